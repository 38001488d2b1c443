// Calls a method of a gRPC server of which it knows nothing beforehand: what its messages are, it asks by reflection. Each
// answer is a line of JSON; how the call ended is the last line, and the process ends well if the call did.
//
//	grpc-client [flags] HOST:PORT list
//	grpc-client [flags] HOST:PORT akash.provider.v1.ProviderRPC/GetStatus '{}'
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

func main() {
	authorization := flag.String("authorization", "", "sent as metadata of that name")
	trust := flag.String("trust", "", "a file with the certificate that the server must show")
	certificate := flag.String("certificate", "", "a file with our own certificate, in PEM")
	key := flag.String("key", "", "a file with the key of that one")
	compress := flag.Bool("gzip", false, "compress what is sent")
	most := flag.Int("most", 0, "leave after so many answers; 0: stay until the end")
	within := flag.Duration("within", 30*time.Second, "give up after so long")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "grpc-client [flags] HOST:PORT list | SERVICE/METHOD [JSON]")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *within)
	defer cancel()
	if *authorization != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", *authorization)
	}
	security, err := securityOf(*trust, *certificate, *key)
	if err == nil {
		err = run(ctx, flag.Args(), security, *compress, *most)
	}
	ended := status.Convert(err)
	line, _ := json.Marshal(map[string]string{"code": ended.Code().String(), "message": ended.Message()})
	fmt.Println(string(line))
	if ended.Code() != codes.OK {
		cancel()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, security *tls.Config, compress bool, most int) error {
	options := []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(security))}
	if compress {
		options = append(options, grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	}
	connection, err := grpc.NewClient("passthrough:///"+args[0], options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	asked, err := ask(ctx, connection)
	if err != nil {
		return err
	}
	if args[1] == "list" {
		return list(asked)
	}
	method, err := asked.method(args[1])
	if err != nil {
		return err
	}
	request := dynamicpb.NewMessage(method.Input())
	if len(args) > 2 {
		if err := (protojson.UnmarshalOptions{Resolver: asked}).Unmarshal([]byte(args[2]), request); err != nil {
			return err
		}
	}
	return call(ctx, connection, method, request, most)
}

// list prints every method of every service, as they are called.
func list(asked *asked) error {
	names, err := asked.services()
	for _, name := range names {
		service, err := asked.service(name)
		if err != nil {
			return err
		}
		for at := range service.Methods().Len() {
			fmt.Printf("%s/%s\n", name, service.Methods().Get(at).Name())
		}
	}
	return err
}

// call makes one call of any kind: where the client may send several messages, it sends the one and says that it was all.
func call(
	ctx context.Context,
	connection *grpc.ClientConn,
	method protoreflect.MethodDescriptor,
	request *dynamicpb.Message,
	most int,
) error {
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		answer := dynamicpb.NewMessage(method.Output())
		if err := connection.Invoke(ctx, path, request, answer); err != nil {
			return err
		}
		return show(answer)
	}
	kind := &grpc.StreamDesc{ServerStreams: method.IsStreamingServer(), ClientStreams: method.IsStreamingClient()}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stream, err := connection.NewStream(ctx, kind, path)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for count := 1; ; count++ {
		answer := dynamicpb.NewMessage(method.Output())
		if err := stream.RecvMsg(answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := show(answer); err != nil || count == most {
			return err
		}
	}
}

func show(answer *dynamicpb.Message) error {
	line, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(answer)
	if err != nil {
		return err
	}
	// protojson puts spaces where it likes, by design.
	var value json.RawMessage = line
	compact, err := json.Marshal(value)
	if err == nil {
		fmt.Println(string(compact))
	}
	return err
}
