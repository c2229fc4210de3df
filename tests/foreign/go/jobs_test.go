package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	jobs "shunter.dev/tests/foreign/gen/jobs"
)

func jobsClient(t *testing.T) (jobs.JobsClient, *cable) {
	t.Helper()
	connection, wire := connect(t, environment(t, "SHUNTER_GRPC"))
	return jobs.NewJobsClient(connection), wire
}

func manifest(name string, count int, command string) string {
	return fmt.Sprintf(`
apiVersion: shunter.dev/v1
kind: Job
metadata: {name: %s}
spec: {command: [sh, -c, '%s'], count: %d, resources: {cpu: 100m}}
`, name, command, count)
}

func submit(t *testing.T, client jobs.JobsClient, text string) *jobs.SubmitAnswer {
	t.Helper()
	answer, err := client.Submit(asAdmin(t), &jobs.SubmitRequest{Manifest: text})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func drain(t *testing.T, stream grpc.ServerStreamingClient[jobs.JobChange]) []*jobs.JobChange {
	t.Helper()
	var found []*jobs.JobChange
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, message)
	}
}

func follow(t *testing.T, client jobs.JobsClient, job, after string) grpc.ServerStreamingClient[jobs.JobChange] {
	t.Helper()
	stream, err := client.Watch(asAdmin(t), &jobs.WatchJobRequest{Job: job, After: after})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func changeTypes(messages []*jobs.JobChange) []string {
	var found []string
	for _, message := range messages {
		if message.Change != nil {
			found = append(found, message.Change.Type)
		}
	}
	return found
}

func TestAJobIsSubmittedWatchedReadAndListed(t *testing.T) {
	client, _ := jobsClient(t)
	submitted := submit(t, client, manifest("go-echo", 3, "echo hello from $SHUNTER_TASK_INDEX"))
	if !submitted.Created || submitted.Job.Count != 3 {
		t.Fatalf("unexpected: %v", submitted)
	}
	seen := drain(t, follow(t, client, "go-echo", submitted.Position))
	types := changeTypes(seen)
	if types[0] != "job.submitted" || types[len(types)-1] != "job.succeeded" {
		t.Fatalf("unexpected order: %v", types)
	}
	if end := seen[len(seen)-1].End; end.GetState() != "succeeded" {
		t.Fatalf("the last message has no end: %v", seen[len(seen)-1])
	}
	got, err := client.Get(asAdmin(t), &jobs.GetRequest{Job: "go-echo", TasksMax: 10})
	if err != nil || got.Job.State != "succeeded" || len(got.Tasks) != 3 || got.Tasks[2].GetExitCode() != 0 {
		t.Fatalf("unexpected: %v %v", got, err)
	}
	page, err := client.List(asAdmin(t), &jobs.ListRequest{Text: "go-echo", States: []string{"succeeded"}})
	if err != nil || page.Total != 1 || page.Jobs[0].Id != submitted.Job.Id {
		t.Fatalf("unexpected: %v %v", page, err)
	}
}

func TestLogsComeInWholeLinesWithTheirEnd(t *testing.T) {
	client, _ := jobsClient(t)
	submit(t, client, manifest("go-logs", 2, "echo out $SHUNTER_TASK_INDEX; echo err >&2"))
	stream, err := client.Logs(asAdmin(t), &jobs.LogsRequest{Job: "go-logs", Follow: true, Streams: []string{"stdout"}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for {
		message, err := stream.Recv()
		if err != nil {
			t.Fatalf("the stream has no end: %v", err)
		}
		if message.End != nil {
			break
		}
		lines = append(lines, message.Output.Task+": "+string(message.Output.Data))
	}
	slices.Sort(lines)
	if want := []string{"go-logs/0: out 0\n", "go-logs/1: out 1\n"}; !slices.Equal(lines, want) {
		t.Fatalf("%q, not %q", lines, want)
	}
}

func TestAWatchGoesOnWhereItsConnectionWasCut(t *testing.T) {
	client, wire := jobsClient(t)
	submitted := submit(t, client, manifest("go-cut", 4, "sleep 0.4"))
	stream := follow(t, client, "go-cut", submitted.Position)
	var before []*jobs.JobChange
	for range 2 {
		message, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, message)
	}
	wire.cut()
	for {
		message, err := stream.Recv()
		if err != nil {
			expectCode(t, err, codes.Unavailable)
			break
		}
		before = append(before, message)
	}
	if before[len(before)-1].End != nil {
		t.Fatal("the job ended before the cut")
	}
	other, _ := jobsClient(t)
	rest := drain(t, follow(t, other, "go-cut", before[len(before)-1].Position))
	whole := drain(t, follow(t, other, "go-cut", submitted.Position))
	if got, want := append(changeTypes(before), changeTypes(rest)...), changeTypes(whole); !slices.Equal(got, want) {
		t.Fatalf("missed or repeated: %v, not %v", got, want)
	}
}

func TestACancelledJobEnds(t *testing.T) {
	client, _ := jobsClient(t)
	submitted := submit(t, client, manifest("go-cancel", 1, "sleep 600"))
	stream := follow(t, client, "go-cancel", submitted.Position)
	if _, err := client.Cancel(asAdmin(t), &jobs.CancelRequest{Job: "go-cancel", Now: true}); err != nil {
		t.Fatal(err)
	}
	seen := drain(t, stream)
	if state := seen[len(seen)-1].End.GetState(); state != "cancelled" {
		t.Fatalf("it is %s", state)
	}
}

func TestADeadlineEndsAWatchAndTheJobGoesOn(t *testing.T) {
	client, _ := jobsClient(t)
	submit(t, client, manifest("go-deadline", 1, "sleep 600"))
	short, cancel := context.WithTimeout(asAdmin(t), 300*time.Millisecond)
	defer cancel()
	stream, err := client.Watch(short, &jobs.WatchJobRequest{Job: "go-deadline"})
	for err == nil {
		_, err = stream.Recv()
	}
	expectCode(t, err, codes.DeadlineExceeded)
	got, err := client.Get(asAdmin(t), &jobs.GetRequest{Job: "go-deadline"})
	if err != nil || slices.Contains([]string{"failed", "cancelled", "succeeded"}, got.Job.State) {
		t.Fatalf("unexpected: %v %v", got, err)
	}
	if _, err := client.Cancel(asAdmin(t), &jobs.CancelRequest{Job: "go-deadline", Now: true}); err != nil {
		t.Fatal(err)
	}
}

func TestARepeatedKeyReturnsTheFirstJob(t *testing.T) {
	client, _ := jobsClient(t)
	request := &jobs.SubmitRequest{Manifest: manifest("go-once", 1, "true"), IdempotencyKey: "once"}
	first, err := client.Submit(asAdmin(t), request)
	if err != nil {
		t.Fatal(err)
	}
	second, err := client.Submit(asAdmin(t), request)
	if err != nil || second.Created || second.Job.Id != first.Job.Id {
		t.Fatalf("unexpected: %v %v", second, err)
	}
}

func TestAWrongManifestIsRefusedWithItsFields(t *testing.T) {
	client, _ := jobsClient(t)
	_, err := client.Submit(asAdmin(t), &jobs.SubmitRequest{Manifest: manifest("NO", -1, "true")})
	expectCode(t, err, codes.InvalidArgument)
	var fields []string
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			for _, violation := range bad.FieldViolations {
				fields = append(fields, violation.Field)
			}
		}
	}
	if want := []string{"metadata.name", "spec.count"}; !slices.Equal(fields, want) {
		t.Fatalf("%v, not %v", fields, want)
	}
}

func TestAWrongTokenIsUnauthenticated(t *testing.T) {
	client, _ := jobsClient(t)
	_, err := client.List(as(t, "invented"), &jobs.ListRequest{})
	if text := expectCode(t, err, codes.Unauthenticated); !strings.Contains(text, "authorization: Bearer TOKEN") {
		t.Fatalf("it does not say what to send: %s", text)
	}
}

func TestAViewerReadsAndChangesNothing(t *testing.T) {
	client, _ := jobsClient(t)
	viewer := as(t, environment(t, "SHUNTER_VIEWER_KEY"))
	if _, err := client.List(viewer, &jobs.ListRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err := client.Submit(viewer, &jobs.SubmitRequest{Manifest: manifest("go-viewer", 1, "true")})
	if text := expectCode(t, err, codes.PermissionDenied); !strings.Contains(text, "needs the role submitter") {
		t.Fatalf("it does not name the roles: %s", text)
	}
	_, err = client.Get(asAdmin(t), &jobs.GetRequest{Job: "go-viewer"})
	expectCode(t, err, codes.NotFound)
}

func TestAnotherTenantSeesNothingOfAJob(t *testing.T) {
	client, _ := jobsClient(t)
	mine := submit(t, client, manifest("go-private", 1, "true"))
	tenant := as(t, environment(t, "SHUNTER_TENANT_KEY"))
	reference := fmt.Sprintf("id:%d", mine.Job.Id)
	_, err := client.Get(tenant, &jobs.GetRequest{Job: reference})
	hidden := expectCode(t, err, codes.NotFound)
	_, err = client.Get(tenant, &jobs.GetRequest{Job: "id:999999999"})
	if absent := expectCode(t, err, codes.NotFound); strings.Replace(absent, "id:999999999", reference, 1) != hidden &&
		strings.Replace(absent, "999999999", fmt.Sprint(mine.Job.Id), 1) != hidden {
		t.Fatalf("it tells that the job exists: %q, %q", hidden, absent)
	}
	_, err = client.Cancel(tenant, &jobs.CancelRequest{Job: reference, Now: true})
	expectCode(t, err, codes.NotFound)
	watch, err := client.Watch(tenant, &jobs.WatchJobRequest{Job: reference})
	if err == nil {
		_, err = watch.Recv()
	}
	expectCode(t, err, codes.NotFound)
	page, err := client.List(tenant, &jobs.ListRequest{Namespace: "*"})
	if err != nil || page.Total != 0 {
		t.Fatalf("unexpected: %v %v", page, err)
	}
}

func TestHealthNeedsNoToken(t *testing.T) {
	connection, _ := connect(t, environment(t, "SHUNTER_GRPC"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, service := range []string{"", "shunter.v1.Jobs", "shunter.v1.ExternalScheduler"} {
		answer, err := health.NewHealthClient(connection).Check(ctx, &health.HealthCheckRequest{Service: service})
		if err != nil || answer.Status != health.HealthCheckResponse_SERVING {
			t.Fatalf("%q: %v %v", service, answer, err)
		}
	}
}

func TestReflectionDescribesTheServiceToWhomHasAToken(t *testing.T) {
	connection, _ := connect(t, environment(t, "SHUNTER_GRPC"))
	client := reflection.NewServerReflectionClient(connection)
	ask := func(ctx context.Context) (*reflection.ServerReflectionResponse, error) {
		stream, err := client.ServerReflectionInfo(ctx)
		if err != nil {
			return nil, err
		}
		query := &reflection.ServerReflectionRequest_ListServices{ListServices: ""}
		_ = stream.Send(&reflection.ServerReflectionRequest{MessageRequest: query})
		return stream.Recv()
	}
	answer, err := ask(asAdmin(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, service := range answer.GetListServicesResponse().GetService() {
		names = append(names, service.Name)
	}
	if !slices.Contains(names, "shunter.v1.Jobs") {
		t.Fatalf("unexpected: %v", names)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err = ask(ctx)
	expectCode(t, err, codes.Unauthenticated)
}
