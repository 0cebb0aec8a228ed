package generator

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// event is the body of a good event, with the fields that GitHub documents for its
// type. Maps are encoded with sorted keys, so that the bytes are always the same.
func (g *generator) event(name string) map[string]any {
	repository, sender := g.repository(), g.user()
	event := map[string]any{"repository": repository, "sender": sender}
	switch name {
	case "ping":
		id := g.IntN(1e8) + 1
		event["zen"] = pick(g, "Keep it logically awesome.", "Design for failure.", "Speak like a human.",
			"Anything added dilutes everything else.")
		event["hook_id"] = id
		event["hook"] = map[string]any{
			"type": "Repository", "id": id, "name": "web", "active": true,
			"events": []string{"push", "pull_request"},
			"config": map[string]any{"content_type": "json", "insecure_ssl": "0", "url": "https://example.com/hook"},
		}
	case "push":
		commits := make([]any, 1+g.IntN(4))
		for i := range commits {
			commits[i] = g.commit(g.sentence(8))
		}
		g.addPush(event, commits)
	case "issues":
		number := g.IntN(5000) + 1
		event["action"] = pick(g, "opened", "edited", "closed", "labeled")
		event["issue"] = map[string]any{
			"id": g.IntN(1e9) + 1, "number": number, "title": g.sentence(6), "body": g.sentence(40),
			"state": pick(g, "open", "closed"), "user": sender, "comments": g.IntN(20),
			"labels": []any{}, "created_at": g.time(), "updated_at": g.time(),
		}
	case "pull_request":
		number := g.IntN(5000) + 1
		event["action"] = pick(g, "opened", "synchronize", "closed", "reopened")
		event["number"] = number
		event["pull_request"] = map[string]any{
			"id": g.IntN(1e9) + 1, "number": number, "title": g.sentence(6), "body": g.sentence(40),
			"state": pick(g, "open", "closed"), "user": sender, "draft": g.IntN(5) == 0,
			"head":   map[string]any{"ref": pick(g, "feature", "fix", "docs"), "sha": g.hex(20)},
			"base":   map[string]any{"ref": "main", "sha": g.hex(20)},
			"merged": false, "commits": 1 + g.IntN(9), "created_at": g.time(), "updated_at": g.time(),
		}
	case "deployment":
		event["action"] = "created"
		event["deployment"] = map[string]any{
			"id": g.IntN(1e9) + 1, "sha": g.hex(20), "ref": "main", "task": "deploy", "payload": map[string]any{},
			"environment": pick(g, "production", "staging"), "description": nil, "creator": sender,
			"created_at": g.time(), "updated_at": g.time(),
		}
	default:
		panic(fmt.Sprintf("generator: no event of the type %q", name))
	}
	return event
}

// The largest payload stays below one mebibyte, the default of max_payload.
const (
	smallestLarge = 100 << 10
	largestLarge  = 1000 << 10
)

// largePush is a push of many commits, 100 KiB to 1 MiB of it.
func (g *generator) largePush() []byte {
	event := map[string]any{"repository": g.repository(), "sender": g.user()}
	size := smallestLarge + g.IntN(largestLarge-smallestLarge)
	var commits []any
	for made := 0; made < size; {
		commit := g.commit(g.sentence(60))
		commits = append(commits, commit)
		made += len(encode(commit)) + len(",")
	}
	g.addPush(event, commits)
	return encode(event)
}

func (g *generator) addPush(event map[string]any, commits []any) {
	head := commits[len(commits)-1].(map[string]any)
	before := g.hex(20)
	event["ref"] = "refs/heads/" + pick(g, "main", "develop", "feature/größe")
	event["before"], event["after"] = before, head["id"]
	event["base_ref"] = nil
	event["created"], event["deleted"], event["forced"] = false, false, g.IntN(10) == 0
	event["compare"] = fmt.Sprintf("https://github.com/octo-org/octo-repo/compare/%s...%s", before[:12], head["id"].(string)[:12])
	event["commits"], event["head_commit"] = commits, head
	event["pusher"] = map[string]any{"name": "octocat", "email": "octocat@example.com"}
}

func (g *generator) commit(text string) map[string]any {
	id := g.hex(20)
	author := map[string]any{"name": "Mona Lisa", "email": "mona@example.com", "username": "octocat"}
	return map[string]any{
		"id": id, "tree_id": g.hex(20), "distinct": true, "message": text, "timestamp": g.time(),
		"url":    "https://github.com/octo-org/octo-repo/commit/" + id,
		"author": author, "committer": author,
		"added": []string{}, "removed": []string{}, "modified": []string{"README.md"},
	}
}

func (g *generator) repository() map[string]any {
	name := pick(g, "octo-repo", "hello-world", "linguist", "naïve-tools")
	return map[string]any{
		"id": g.IntN(1e9) + 1, "name": name, "full_name": "octo-org/" + name, "private": false,
		"owner": g.user(), "html_url": "https://github.com/octo-org/" + name, "default_branch": "main",
	}
}

func (g *generator) user() map[string]any {
	login := pick(g, "octocat", "hubot", "monalisa")
	return map[string]any{"login": login, "id": g.IntN(1e7) + 1, "type": "User", "site_admin": false}
}

func (g *generator) sentence(words int) string {
	text := make([]string, words)
	for i := range text {
		text[i] = pick(g, "fix", "add", "the", "queue", "handler", "when", "row", "is", "<late>", "& ready", "größer", "再試行", "🚀", "\"quoted\"")
	}
	return strings.Join(text, " ")
}

func (g *generator) time() string {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return start.Add(time.Duration(g.IntN(90*24*3600)) * time.Second).Format(time.RFC3339)
}

func (g *generator) hex(size int) string {
	raw := make([]byte, size)
	for i := range raw {
		raw[i] = byte(g.Uint32())
	}
	return hex.EncodeToString(raw)
}

// uuid is random and of version 4.
func (g *generator) uuid() string {
	digits := g.hex(16)
	return fmt.Sprintf("%s-%s-4%s-a%s-%s", digits[:8], digits[8:12], digits[13:16], digits[17:20], digits[20:])
}
