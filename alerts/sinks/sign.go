package sinks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// secretPrefix marks a secret of the Standard Webhooks specification.
const secretPrefix = "whsec_"

// key reads a secret. Errors show no part of it.
func key(secret string) ([]byte, error) {
	k, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		return nil, errors.New("the secret is not base64 after whsec_: make one with: echo whsec_$(openssl rand -base64 32)")
	}
	if len(k) < 24 || len(k) > 64 {
		return nil, errors.New("the secret is not of 24 to 64 bytes: make one with: echo whsec_$(openssl rand -base64 32)")
	}
	return k, nil
}

// sign returns the value of the webhook-signature header.
func sign(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + ".")) // a hash never fails
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
