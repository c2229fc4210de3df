// Package foreign drives a running cluster by gRPC with nothing but stubs generated from proto/. tests/foreign builds and
// runs it; the cluster and its credentials are in the environment.
package foreign

import (
	"context"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const patience = 60 * time.Second

// environment has an address or a credential; a test without it must not pass.
func environment(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set", name)
	}
	return value
}

func as(t *testing.T, token string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func asAdmin(t *testing.T) context.Context {
	t.Helper()
	return as(t, environment(t, "SHUNTER_TOKEN"))
}

// cable is a connection that a test can cut: its sockets close without a goodbye.
type cable struct {
	mutex   sync.Mutex
	sockets []net.Conn
}

func (c *cable) dial(ctx context.Context, address string) (net.Conn, error) {
	socket, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		c.mutex.Lock()
		c.sockets = append(c.sockets, socket)
		c.mutex.Unlock()
	}
	return socket, err
}

func (c *cable) cut() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, socket := range c.sockets {
		_ = socket.Close()
	}
}

func connect(t *testing.T, address string) (*grpc.ClientConn, *cable) {
	t.Helper()
	wire := &cable{}
	connection, err := grpc.NewClient(
		"passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(wire.dial),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection, wire
}

func expectCode(t *testing.T, err error, want codes.Code) string {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Fatalf("status is %v, not %v: %v", got, want, err)
	}
	return status.Convert(err).Message()
}
