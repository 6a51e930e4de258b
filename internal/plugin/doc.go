// SPDX-License-Identifier: Apache-2.0

// Package plugin is the command line kubectl mongotuning: it reads a MongoTuning and what belongs to it,
// shows how it stands in words, and sets the annotations by which people speak to the operator. Each
// command first makes a view of what was read, a plain struct, and then shows it as text, JSON or YAML.
// It writes nothing but annotations, and never talks to a database.
package plugin
