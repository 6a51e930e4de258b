// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/naming"
)

const (
	// keyFileBytes of randomness make a key file of 1008 characters; mongod takes 6 to 1024.
	keyFileBytes = 756
	// passwordBytes of randomness make a password of 43 characters, 256 bits.
	passwordBytes = 32

	operatorUser = "mongotuning-operator"
	appUser      = "app"
)

// secrets are the credentials of one cluster. They live in memory for one reconcile and never go into
// a log, an event, a status or an argument.
type secrets struct {
	// cluster is the namespaced name of the MongoTuning, which connections are kept under.
	cluster  string
	keyFile  []byte
	operator login
	app      login
	// appVersion is the resourceVersion of the application's Secret, which tells when it was edited.
	appVersion string
}

type login struct {
	username, password string
}

// keyFileID names the key file without giving it away.
func (s secrets) keyFileID() string {
	sum := sha256.Sum256(s.keyFile)
	return hex.EncodeToString(sum[:])[:10]
}

// ensureSecrets reads the Secrets and makes those that are missing. They have no owner: an object that
// is made anew under the same name adopts what it finds, together with the data. A lost key file is
// made anew too; the pods that still have the old one are then replaced.
func (r *MongoTuningReconciler) ensureSecrets(ctx context.Context, tuning *v1alpha1.MongoTuning) (secrets, error) {
	return r.secretsBy(ctx, tuning, r.ensureSecret, r.keepURI)
}

// findSecrets reads the Secrets and writes nothing. In the place of a missing one stand credentials that
// no server knows: the members are looked at as strangers see them.
func (r *MongoTuningReconciler) findSecrets(ctx context.Context, tuning *v1alpha1.MongoTuning) (secrets, error) {
	asItIs := func(_ context.Context, _ *v1alpha1.MongoTuning, secret *corev1.Secret) (*corev1.Secret, error) {
		return secret, nil
	}
	return r.secretsBy(ctx, tuning, r.findSecret, asItIs)
}

// secretOf gets a Secret by its name; newData is what it holds when there is none.
type secretOf func(ctx context.Context, tuning *v1alpha1.MongoTuning, name string, newData func() map[string][]byte) (*corev1.Secret, error)

// secretWithURI gives the application's Secret its connection string.
type secretWithURI func(ctx context.Context, tuning *v1alpha1.MongoTuning, secret *corev1.Secret) (*corev1.Secret, error)

func (r *MongoTuningReconciler) secretsBy(ctx context.Context, tuning *v1alpha1.MongoTuning, get secretOf, withURI secretWithURI) (secrets, error) {
	key, err := get(ctx, tuning, naming.KeyFileSecret(tuning.Name), func() map[string][]byte {
		return map[string][]byte{naming.KeyFileKey: []byte(random(keyFileBytes, base64.StdEncoding))}
	})
	if err != nil {
		return secrets{}, err
	}
	operator, err := get(ctx, tuning, naming.OperatorSecret(tuning.Name), newLogin(operatorUser))
	if err != nil {
		return secrets{}, err
	}
	app, err := get(ctx, tuning, naming.AppSecret(tuning.Name), newLogin(appUser))
	if err != nil {
		return secrets{}, err
	}
	if app, err = withURI(ctx, tuning, app); err != nil {
		return secrets{}, err
	}
	found := secrets{
		cluster:    client.ObjectKeyFromObject(tuning).String(),
		keyFile:    key.Data[naming.KeyFileKey],
		operator:   loginOf(operator),
		app:        loginOf(app),
		appVersion: string(app.UID) + "/" + app.ResourceVersion,
	}
	return found, found.complete()
}

// complete refuses Secrets that somebody emptied, by their names.
func (s secrets) complete() error {
	switch {
	case len(s.keyFile) == 0:
		return fmt.Errorf("the key file Secret has no key %q", naming.KeyFileKey)
	case s.operator.username == "" || s.operator.password == "":
		return fmt.Errorf("the operator's Secret needs the keys %q and %q", naming.UsernameKey, naming.PasswordKey)
	case s.app.username == "" || s.app.password == "":
		return fmt.Errorf("the application's Secret needs the keys %q and %q", naming.UsernameKey, naming.PasswordKey)
	}
	return nil
}

func newLogin(username string) func() map[string][]byte {
	return func() map[string][]byte {
		return map[string][]byte{
			naming.UsernameKey: []byte(username),
			naming.PasswordKey: []byte(random(passwordBytes, base64.RawURLEncoding)),
		}
	}
}

func loginOf(secret *corev1.Secret) login {
	return login{username: string(secret.Data[naming.UsernameKey]), password: string(secret.Data[naming.PasswordKey])}
}

func random(bytes int, encoding *base64.Encoding) string {
	buffer := make([]byte, bytes)
	_, _ = rand.Read(buffer) // never fails: the runtime ends the process when there is no randomness
	return encoding.EncodeToString(buffer)
}

// findSecret reads one Secret, past the cache (the operator may read Secrets by name and not list them).
// In the place of a missing one comes one that is not in the cluster, without a UID.
func (r *MongoTuningReconciler) findSecret(ctx context.Context, tuning *v1alpha1.MongoTuning, name string, newData func() map[string][]byte) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Uncached.Get(ctx, types.NamespacedName{Namespace: tuning.Namespace, Name: name}, secret)
	if err == nil {
		return secret, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get Secret %s: %w", name, err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: tuning.Namespace, Labels: naming.Labels(tuning.Name)},
		Type:       corev1.SecretTypeOpaque,
		Data:       newData(),
	}, nil
}

// ensureSecret reads one Secret and creates it when it is missing.
func (r *MongoTuningReconciler) ensureSecret(ctx context.Context, tuning *v1alpha1.MongoTuning, name string, newData func() map[string][]byte) (*corev1.Secret, error) {
	secret, err := r.findSecret(ctx, tuning, name, newData)
	if err != nil || secret.UID != "" {
		return secret, err
	}
	if err := r.Create(ctx, secret); err != nil {
		return nil, fmt.Errorf("create Secret %s: %w", name, err)
	}
	return secret, nil
}

// keepURI keeps the connection string of the application's Secret in step with its user and password,
// which people rotate by editing them.
func (r *MongoTuningReconciler) keepURI(ctx context.Context, tuning *v1alpha1.MongoTuning, secret *corev1.Secret) (*corev1.Secret, error) {
	app := loginOf(secret)
	uri := url.URL{
		Scheme: "mongodb", User: url.UserPassword(app.username, app.password),
		Host: fmt.Sprintf("%s:%d", naming.MongosHost(tuning.Name, tuning.Namespace, r.ClusterDomain), naming.Port),
		Path: "/", RawQuery: "authSource=admin",
	}
	if string(secret.Data[naming.URIKey]) == uri.String() {
		return secret, nil
	}
	changed := secret.DeepCopy()
	if changed.Data == nil {
		changed.Data = map[string][]byte{}
	}
	changed.Data[naming.URIKey] = []byte(uri.String())
	if err := r.Patch(ctx, changed, client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, fmt.Errorf("keep the connection string of Secret %s: %w", secret.Name, err)
	}
	return changed, nil
}
