package foreign

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	jobs "shunter.dev/tests/foreign/gen/jobs"
	workers "shunter.dev/tests/foreign/gen/workers"
)

// worker is a node that runs nothing: it says of each task what a test wants.
type worker struct {
	t      *testing.T
	stream grpc.BidiStreamingClient[workers.WorkerMessage, workers.ManagerMessage]
	seq    int64
}

func join(t *testing.T, name, token string) *worker {
	t.Helper()
	connection, _ := connect(t, environment(t, "SHUNTER_WORKERS"))
	stream, err := workers.NewWorkersClient(connection).Connect(as(t, token))
	if err != nil {
		t.Fatal(err)
	}
	joined := &worker{t: t, stream: stream}
	joined.send(&workers.WorkerMessage{Message: &workers.WorkerMessage_Hello{Hello: &workers.Hello{
		Protocol: 1,
		Name:     name,
		Boot:     fmt.Sprint(time.Now().UnixNano()),
		Capacity: map[string]int64{"cpu": 4000, "memory": 1 << 30, "disk": 1 << 30},
		Labels:   map[string]string{"speaks": name},
		WorkerId: "of-" + name,
	}}})
	return joined
}

func joinReady(t *testing.T, name string) *worker {
	t.Helper()
	joined := join(t, name, environment(t, "SHUNTER_WORKER_TOKEN"))
	if welcome := joined.receive().GetWelcome(); welcome.GetNode() == 0 {
		t.Fatal("no welcome came")
	}
	joined.send(&workers.WorkerMessage{Message: &workers.WorkerMessage_Heartbeat{Heartbeat: &workers.Heartbeat{
		Stats: &workers.MachineStats{AtMs: time.Now().UnixMilli()},
	}}})
	joined.seq = 1
	inventory := &workers.Inventory{Seq: joined.seq}
	joined.send(&workers.WorkerMessage{Message: &workers.WorkerMessage_Inventory{Inventory: inventory}})
	joined.awaitAck()
	return joined
}

func (w *worker) send(message *workers.WorkerMessage) {
	w.t.Helper()
	if err := w.stream.Send(message); err != nil {
		w.t.Fatal(err)
	}
}

func (w *worker) receive() *workers.ManagerMessage {
	w.t.Helper()
	message, err := w.stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	return message
}

func (w *worker) awaitAck() {
	w.t.Helper()
	for w.receive().GetAck().GetSeq() < w.seq {
	}
}

func (w *worker) awaitOrder() *workers.Order {
	w.t.Helper()
	for {
		if orders := w.receive().GetOrders().GetOrders(); len(orders) > 0 {
			return orders[0]
		}
	}
}

func (w *worker) report(report *workers.Report) {
	w.t.Helper()
	w.seq++
	report.Seq = w.seq
	w.send(&workers.WorkerMessage{Message: &workers.WorkerMessage_Report{Report: report}})
}

func submitTo(t *testing.T, client jobs.JobsClient, name, node string) *jobs.SubmitAnswer {
	t.Helper()
	return submit(t, client, fmt.Sprintf(`
apiVersion: shunter.dev/v1
kind: Job
metadata: {name: %s}
spec: {command: [never, run], constraints: ["node.labels.speaks == '%s'"]}
`, name, node))
}

func TestAWorkerJoinsIsOrderedAndReports(t *testing.T) {
	client, _ := jobsClient(t)
	gopher := joinReady(t, "gopher")
	submitted := submitTo(t, client, "go-work", "gopher")
	order := gopher.awaitOrder()
	if order.Job != submitted.Job.Id || order.JobName != "go-work" || order.First != 0 || order.Last != 0 {
		t.Fatalf("unexpected order: %v", order)
	}
	began := time.Now().UnixMilli()
	gopher.report(&workers.Report{Started: []*workers.Started{{
		Job: order.Job, Group: order.Group, Attempt: order.Attempt, Index: 0, StartedMs: began, Segment: 1,
	}}})
	gopher.awaitAck()
	running, err := client.Get(asAdmin(t), &jobs.GetRequest{Job: "go-work", TasksMax: 1})
	if err != nil || running.Tasks[0].State != "running" || running.Tasks[0].Node != "gopher" {
		t.Fatalf("unexpected: %v %v", running, err)
	}
	gopher.report(&workers.Report{Ended: []*workers.Ended{{
		Job: order.Job, Group: order.Group, Attempt: order.Attempt, First: 0,
		Exits: []int64{7}, StartedMs: []int64{began}, EndedMs: []int64{began + 5}, Segment: 1,
	}}})
	gopher.awaitAck()
	seen := drain(t, follow(t, client, "go-work", submitted.Position))
	end := seen[len(seen)-1].End
	if end.GetState() != "failed" || end.GetExitCode() != 7 {
		t.Fatalf("unexpected end: %v", end)
	}
}

func TestAWorkerThatLiesIsRefusedAndItsReportChangesNothing(t *testing.T) {
	client, _ := jobsClient(t)
	liar := joinReady(t, "liar")
	submitTo(t, client, "go-lie", "liar")
	order := liar.awaitOrder()
	now := time.Now().UnixMilli()
	one := func(first int64) *workers.Ended {
		return &workers.Ended{
			Job: order.Job, Group: order.Group, Attempt: order.Attempt, First: first,
			StartedMs: []int64{now}, EndedMs: []int64{now}, Segment: 1,
		}
	}
	liar.report(&workers.Report{Ended: []*workers.Ended{one(0), one(5)}}) // the job has one task
	var refused *workers.Refused
	for refused == nil {
		refused = liar.receive().GetRefused()
	}
	if refused.Code != "invalid" || refused.Retry {
		t.Fatalf("unexpected: %v", refused)
	}
	_, err := liar.stream.Recv()
	expectCode(t, err, codes.InvalidArgument)
	got, err := client.Get(asAdmin(t), &jobs.GetRequest{Job: "go-lie", TasksMax: 1})
	if err != nil || slices.Contains([]string{"succeeded", "failed"}, got.Job.State) {
		t.Fatalf("the lie was believed: %v %v", got, err)
	}
	if _, err := client.Cancel(asAdmin(t), &jobs.CancelRequest{Job: "go-lie", Now: true}); err != nil {
		t.Fatal(err)
	}
}

func TestAReportBeforeTheInventoryIsInvalid(t *testing.T) {
	hasty := join(t, "hasty", environment(t, "SHUNTER_WORKER_TOKEN"))
	if hasty.receive().GetWelcome() == nil {
		t.Fatal("no welcome came")
	}
	hasty.report(&workers.Report{})
	for {
		if refused := hasty.receive().GetRefused(); refused != nil {
			if refused.Code != "invalid" {
				t.Fatalf("unexpected: %v", refused)
			}
			return
		}
	}
}

func TestAWorkerWithAWrongTokenIsRefused(t *testing.T) {
	connection, _ := connect(t, environment(t, "SHUNTER_WORKERS"))
	// A token of clients is none of workers.
	for _, token := range []string{"invented", environment(t, "SHUNTER_TOKEN")} {
		stream, err := workers.NewWorkersClient(connection).Connect(as(t, token))
		var code string
		for err == nil {
			var message *workers.ManagerMessage
			message, err = stream.Recv()
			code = message.GetRefused().GetCode() + code
		}
		expectCode(t, err, codes.Unauthenticated)
		if code != "unauthorized" {
			t.Fatalf("the last message does not say why: %q", code)
		}
	}
}
