// SPDX-License-Identifier: Apache-2.0

package configserver

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	internalUser     = "__system"
	internalDatabase = "local"
	// minIterations is the least a server may ask for, by RFC 7677 section 4.
	minIterations = 4096
)

// Authenticate proves knowledge of the key file to the server as the members of a cluster do among themselves: by
// SCRAM-SHA-256 (RFC 5802, RFC 7677) as user __system of database local.
func (c *Conn) Authenticate(ctx context.Context, key string) error {
	nonce := rand.Text()
	clientFirst := "n=" + internalUser + ",r=" + nonce
	start, err := c.Run(ctx, internalDatabase, bson.D{
		{Key: "saslStart", Value: 1},
		{Key: "mechanism", Value: "SCRAM-SHA-256"},
		{Key: "payload", Value: bson.Binary{Data: []byte("n,," + clientFirst)}},
		{Key: "options", Value: bson.D{{Key: "skipEmptyExchange", Value: true}}},
	})
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	challenge, err := payload(start)
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	answer, err := answerChallenge(key, nonce, clientFirst, challenge)
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	end, err := c.Run(ctx, internalDatabase, bson.D{
		{Key: "saslContinue", Value: 1},
		{Key: "conversationId", Value: start.Lookup("conversationId")},
		{Key: "payload", Value: bson.Binary{Data: []byte(answer.clientFinal)}},
	})
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	proof, err := payload(end)
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	if !hmac.Equal([]byte(proof), []byte(answer.serverFinal)) {
		return errors.New("authenticate: server does not know the key")
	}
	if done, _ := end.Lookup("done").BooleanOK(); done {
		return nil
	}
	// 4.2 does not know skipEmptyExchange and wants one more, empty step.
	_, err = c.Run(ctx, internalDatabase, bson.D{
		{Key: "saslContinue", Value: 1},
		{Key: "conversationId", Value: start.Lookup("conversationId")},
		{Key: "payload", Value: bson.Binary{}},
	})
	if err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	return nil
}

func payload(reply bson.Raw) (string, error) {
	_, data, ok := reply.Lookup("payload").BinaryOK()
	if !ok {
		return "", errors.New("reply without a payload")
	}
	return string(data), nil
}

// scramAnswer is what the client sends, and what an honest server answers to it.
type scramAnswer struct {
	clientFinal string
	serverFinal string
}

func answerChallenge(password, nonce, clientFirst, challenge string) (scramAnswer, error) {
	attributes := map[byte]string{}
	for attribute := range strings.SplitSeq(challenge, ",") {
		if len(attribute) >= 2 && attribute[1] == '=' {
			attributes[attribute[0]] = attribute[2:]
		}
	}
	if !strings.HasPrefix(attributes['r'], nonce) || attributes['r'] == nonce {
		return scramAnswer{}, errors.New("server does not continue the nonce")
	}
	salt, err := base64.StdEncoding.DecodeString(attributes['s'])
	if err != nil {
		return scramAnswer{}, fmt.Errorf("read salt: %w", err)
	}
	iterations, err := strconv.Atoi(attributes['i'])
	if err != nil || iterations < minIterations {
		return scramAnswer{}, fmt.Errorf("iteration count %q is below %d", attributes['i'], minIterations)
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return scramAnswer{}, fmt.Errorf("derive key: %w", err)
	}
	withoutProof := "c=biws,r=" + attributes['r']
	transcript := clientFirst + "," + challenge + "," + withoutProof
	clientKey := sign(salted, "Client Key")
	storedKey := sha256.Sum256(clientKey)
	proof := sign(storedKey[:], transcript)
	for i := range proof {
		proof[i] ^= clientKey[i]
	}
	signature := sign(sign(salted, "Server Key"), transcript)
	return scramAnswer{
		clientFinal: withoutProof + ",p=" + base64.StdEncoding.EncodeToString(proof),
		serverFinal: "v=" + base64.StdEncoding.EncodeToString(signature),
	}, nil
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
