// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The sizes of a document in bytes of BSON, after the stress test that this tool repeats.
const (
	// SmallDocument is the size of a small document.
	SmallDocument = 43
	// LargeDocument is the size of a large one, 3 KiB.
	LargeDocument = 3072
	// MaxDocument bounds other sizes: a quarter of what MongoDB takes, so that a list of a few can be read at once.
	MaxDocument = 4 << 20
)

// The fields of a document.
const (
	idField = "_id"
	// countField counts the updates of the document; the ledger is checked against it.
	countField = "n"
	textField  = "v"
)

// overhead is a document without its text: 4 bytes of length and the closing zero; _id, n and v with a byte of
// type and their name with its zero; 8 bytes of _id, 4 of n, and 4 of length and the closing zero of v.
const overhead = 4 + 1 + (1 + 4 + 8) + (1 + 2 + 4) + (1 + 2 + 4 + 1)

// MinDocument is the smallest size, with a text of one letter.
const MinDocument = overhead + 1

// texts are where the texts of documents are cut from: letters without an order, which no compressor makes much
// smaller. To make new ones for each document would cost more than to send it.
type texts struct {
	letters string
	length  int
}

// alphabet has 64 letters, so that six random bits choose one.
const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

func newTexts(documentBytes int, random *rand.Rand) (texts, error) {
	if documentBytes < MinDocument || documentBytes > MaxDocument {
		return texts{}, fmt.Errorf("documents of %d bytes: the size has to be from %d to %d", documentBytes, MinDocument, MaxDocument)
	}
	length := documentBytes - overhead
	letters := make([]byte, length+64<<10)
	for i := range letters {
		letters[i] = alphabet[random.IntN(len(alphabet))]
	}
	return texts{letters: string(letters), length: length}, nil
}

// any is one of many texts.
func (t texts) any(random *rand.Rand) string {
	at := random.IntN(len(t.letters) - t.length)
	return t.letters[at : at+t.length]
}

// document is the document of an _id that was updated so many times.
func document(id int64, updates int32, text string) bson.D {
	return bson.D{{Key: idField, Value: id}, {Key: countField, Value: updates}, {Key: textField, Value: text}}
}

// change is an update of a document: its size stays what it is.
func change(text string) bson.D {
	return bson.D{
		{Key: "$inc", Value: bson.D{{Key: countField, Value: int32(1)}}},
		{Key: "$set", Value: bson.D{{Key: textField, Value: text}}},
	}
}

// byID asks for one document.
func byID(id int64) bson.D { return bson.D{{Key: idField, Value: id}} }
