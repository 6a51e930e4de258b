// SPDX-License-Identifier: Apache-2.0

package configserver

import "testing"

// TestAnswerFollowsTheStandard uses the example of RFC 7677 section 3.
func TestAnswerFollowsTheStandard(t *testing.T) {
	got, err := answerChallenge("pencil", "rOprNGfwEbeRWgbNEkqO", "n=user,r=rOprNGfwEbeRWgbNEkqO",
		"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
	if err != nil {
		t.Fatalf("answer: %v", err)
	}
	want := scramAnswer{
		clientFinal: "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0," +
			"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
		serverFinal: "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
	}
	if got != want {
		t.Errorf("answer is %+v, want %+v", got, want)
	}
}

func TestAnswerRefusesADishonestChallenge(t *testing.T) {
	for _, row := range []struct{ name, challenge string }{
		{"another nonce", "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"},
		{"a nonce the server added nothing to", "r=mine,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"},
		{"no salt in base 64", "r=mine1,s=!,i=4096"},
		{"too few iterations", "r=mine1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4095"},
		{"nothing", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := answerChallenge("pencil", "mine", "n=user,r=mine", row.challenge); err == nil {
				t.Error("the challenge was answered")
			}
		})
	}
}
