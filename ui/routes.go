package ui

import (
	"net/http"

	"github.com/headrace/headrace/ui/who"
)

// route is a page or an action, and the role that it needs.
type route struct {
	method, path string
	needs        who.Role
	do           func(*visit) error
}

// routes are all of them, but for the assets, which hold no data.
var routes = []route{
	{http.MethodGet, "/{$}", who.Viewer, overview},
	{http.MethodGet, "/groups", who.Viewer, groupsPage},
	{http.MethodGet, "/g/{fingerprint}", who.Viewer, group},
	{http.MethodGet, "/g/{fingerprint}/shared", who.Viewer, sharedPage},
	{http.MethodGet, "/l/{id}", who.Viewer, letter},
	{http.MethodGet, "/r/{id}", who.Viewer, redrivePage},
	{http.MethodGet, "/q/{id}", who.Viewer, requestPage},
	{http.MethodGet, "/find", who.Viewer, find},
	{http.MethodGet, "/search", who.Viewer, searchPage},
	{http.MethodGet, "/redrives", who.Viewer, redrives},
	{http.MethodGet, "/consumers", who.Viewer, consumers},
	{http.MethodGet, "/steps", who.Viewer, stepsPage},
	{http.MethodGet, "/outbox", who.Viewer, outboxes},
	{http.MethodGet, "/audit", who.Viewer, auditPage},
	{http.MethodGet, "/{nowhere...}", who.Viewer, nowhere},
	// Their rows name messages of all handlers, and not only those that failed.
	{http.MethodGet, "/backlog", who.Operator, backlogPage},
	{http.MethodGet, "/inbox", who.Operator, inboxPage},

	{http.MethodPost, "/l/{id}/editor", who.Admin, openEditor},
	{http.MethodPost, "/l/{id}/edit", who.Admin, editLetter},
	{http.MethodGet, "/l/{id}/newkey", who.Admin, newKeyPage},
	{http.MethodPost, "/l/{id}/newkey", who.Admin, giveNewKey},
	{http.MethodGet, "/backlog/{id}/cancel", who.Admin, cancelPage},
	{http.MethodPost, "/backlog/{id}/cancel", who.Admin, cancelMessage},

	{http.MethodPost, "/g/{fingerprint}/rehearse", who.Operator, rehearseGroup},
	{http.MethodPost, "/g/{fingerprint}/plan", who.Operator, planGroup},
	{http.MethodPost, "/g/{fingerprint}/discard", who.Operator, discardGroup},
	{http.MethodPost, "/g/{fingerprint}/resolve", who.Operator, resolveGroup},
	{http.MethodPost, "/g/{fingerprint}/mute", who.Operator, muteGroup},
	{http.MethodPost, "/g/{fingerprint}/unmute", who.Operator, unmuteGroup},
	{http.MethodPost, "/g/{fingerprint}/note", who.Operator, noteGroup},
	{http.MethodPost, "/l/{id}/rehearse", who.Operator, rehearseLetter},
	{http.MethodPost, "/l/{id}/plan", who.Operator, planLetter},
	{http.MethodPost, "/l/{id}/discard", who.Operator, discardLetter},
	{http.MethodPost, "/l/{id}/reveal", who.Operator, revealLetter},
	{http.MethodPost, "/l/{id}/download", who.Operator, downloadLetter},
	{http.MethodPost, "/l/{id}/restore", who.Operator, restoreLetter},
	{http.MethodPost, "/backlog/retry", who.Operator, retryGroup},
	{http.MethodPost, "/steps/reveal", who.Operator, revealSteps},
	{http.MethodPost, "/systems/pause", who.Operator, pauseSystem},
	{http.MethodPost, "/systems/resume", who.Operator, resumeSystem},
	{http.MethodPost, "/outbox/unpark", who.Operator, unpark},
	{http.MethodPost, "/consumers/pause", who.Operator, pauseConsumer},
	{http.MethodPost, "/consumers/resume", who.Operator, resumeConsumer},
	{http.MethodPost, "/r/{id}/apply", who.Operator, applyRedrive},
	{http.MethodPost, "/r/{id}/pause", who.Operator, pauseRedrive},
	{http.MethodPost, "/r/{id}/resume", who.Operator, resumeRedrive},
	{http.MethodPost, "/r/{id}/cancel", who.Operator, cancelRedrive},
}
