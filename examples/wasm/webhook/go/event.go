package main

import (
	"encoding/json"
	"errors"
	"fmt"
)

// errUnknownType is for events that GitHub may well send and nobody here asked for.
var errUnknownType = errors.New("nothing here handles this type of event")

// event is what this inbox reads of an event. Its text says what it is about.
type event interface {
	fmt.Stringer
	missing() string // the first required field that is not there
}

// parse decodes the body as an event of the type that X-GitHub-Event names.
func parse(name string, body []byte) (event, error) {
	var event event
	switch name {
	case "":
		return nil, errors.New("X-GitHub-Event is missing")
	case "ping":
		event = new(ping)
	case "push":
		event = new(push)
	case "issues":
		event = new(issues)
	case "pull_request":
		event = new(pullRequest)
	case "deployment":
		event = new(deployment)
	default:
		return nil, fmt.Errorf("%w: %s", errUnknownType, name)
	}
	if len(body) == 0 {
		return nil, fmt.Errorf("the body of the %s event is empty", name)
	}
	// A field of another type than documented counts as missing.
	var mistyped *json.UnmarshalTypeError
	if err := json.Unmarshal(body, event); err != nil && !errors.As(err, &mistyped) {
		return nil, fmt.Errorf("the body of the %s event is no JSON", name)
	}
	if field := event.missing(); field != "" {
		return nil, fmt.Errorf("the body of the %s event has no %s", name, field)
	}
	return event, nil
}

type repository struct {
	FullName string `json:"full_name"`
}

type ping struct {
	Zen    string `json:"zen"`
	HookID int64  `json:"hook_id"`
}

func (e *ping) String() string { return fmt.Sprintf("hook %d: %s", e.HookID, e.Zen) }

func (e *ping) missing() string {
	if e.HookID == 0 {
		return "hook_id"
	}
	return ""
}

type push struct {
	Ref        string     `json:"ref"`
	After      string     `json:"after"`
	Repository repository `json:"repository"`
	Commits    []struct {
		ID string `json:"id"`
	} `json:"commits"`
}

func (e *push) String() string {
	return fmt.Sprintf("%d commits to %s of %s", len(e.Commits), e.Ref, e.Repository.FullName)
}

func (e *push) missing() string {
	switch {
	case e.Ref == "":
		return "ref"
	case e.After == "":
		return "after"
	case e.Repository.FullName == "":
		return "repository.full_name"
	}
	return ""
}

type issues struct {
	Action string `json:"action"`
	Issue  struct {
		Number int    `json:"number"`
		Title  string `json:"title"`
	} `json:"issue"`
	Repository repository `json:"repository"`
}

func (e *issues) String() string {
	return fmt.Sprintf("%s#%d %s: %s", e.Repository.FullName, e.Issue.Number, e.Action, e.Issue.Title)
}

func (e *issues) missing() string {
	switch {
	case e.Action == "":
		return "action"
	case e.Issue.Number == 0:
		return "issue.number"
	case e.Repository.FullName == "":
		return "repository.full_name"
	}
	return ""
}

type pullRequest struct {
	Action      string `json:"action"`
	Number      int    `json:"number"`
	PullRequest struct {
		Title string `json:"title"`
	} `json:"pull_request"`
	Repository repository `json:"repository"`
}

func (e *pullRequest) String() string {
	return fmt.Sprintf("%s#%d %s: %s", e.Repository.FullName, e.Number, e.Action, e.PullRequest.Title)
}

func (e *pullRequest) missing() string {
	switch {
	case e.Action == "":
		return "action"
	case e.Number == 0:
		return "number"
	case e.Repository.FullName == "":
		return "repository.full_name"
	}
	return ""
}

type deployment struct {
	Action     string `json:"action"`
	Deployment struct {
		ID          int64  `json:"id"`
		Environment string `json:"environment"`
	} `json:"deployment"`
	Repository repository `json:"repository"`
}

func (e *deployment) String() string {
	return fmt.Sprintf("%s to %s %s", e.Repository.FullName, e.Deployment.Environment, e.Action)
}

func (e *deployment) missing() string {
	switch {
	case e.Action == "":
		return "action"
	case e.Deployment.ID == 0:
		return "deployment.id"
	case e.Repository.FullName == "":
		return "repository.full_name"
	}
	return ""
}
