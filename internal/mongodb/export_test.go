// SPDX-License-Identifier: Apache-2.0

package mongodb

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/mongotuning/mongotuning/internal/serverstatus"
)

// DecodeServerStatus is what happens to an answer of serverStatus, for a benchmark that gets one from a
// real server; the package of such servers imports this one.
func DecodeServerStatus(raw bson.Raw) (serverstatus.Status, error) {
	decoded, err := documentOf(raw)
	if err != nil {
		return serverstatus.Status{}, err
	}
	return serverStatusOf(decoded), nil
}
