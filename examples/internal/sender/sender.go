package sender

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
)

// Secret is the shop's and ours.
const Secret = "shared by both sides"

// Post sends one webhook, and reports whether the answer was 200.
func Post(ctx context.Context, client *http.Client, url, id string, body []byte) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	sum := hmac.New(sha256.New, []byte(Secret))
	sum.Write(body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Shopify-Webhook-Id", id)
	r.Header.Set("X-Shopify-Hmac-Sha256", base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}
