package main

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// asked is what a server tells of itself.
type asked struct {
	*dynamicpb.Types
	stream grpc.BidiStreamingClient[reflection.ServerReflectionRequest, reflection.ServerReflectionResponse]
}

func ask(ctx context.Context, connection *grpc.ClientConn) (*asked, error) {
	stream, err := reflection.NewServerReflectionClient(connection).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	return &asked{stream: stream, Types: dynamicpb.NewTypes(new(protoregistry.Files))}, nil
}

func (a *asked) services() ([]string, error) {
	answer, err := a.exchange(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{},
	})
	var names []string
	for _, service := range answer.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	return names, err
}

// method finds "akash.provider.v1.ProviderRPC/GetStatus" with all that its messages are made of.
func (a *asked) method(path string) (protoreflect.MethodDescriptor, error) {
	service, name, isMethod := strings.Cut(path, "/")
	if !isMethod {
		return nil, fmt.Errorf("%s is no method: SERVICE/METHOD", path)
	}
	descriptor, err := a.service(service)
	if err != nil {
		return nil, err
	}
	method := descriptor.Methods().ByName(protoreflect.Name(name))
	if method == nil {
		return nil, status.Errorf(codes.Unimplemented, "%s has no method %s by its reflection", service, name)
	}
	return method, nil
}

func (a *asked) service(name string) (protoreflect.ServiceDescriptor, error) {
	files, err := a.filesOf(name)
	if err != nil {
		return nil, err
	}
	a.Types = dynamicpb.NewTypes(files)
	found, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	if service, isService := found.(protoreflect.ServiceDescriptor); isService {
		return service, nil
	}
	return nil, fmt.Errorf("%s is no service", name)
}

// filesOf asks for the file of a symbol, and for those it imports as far as they did not come with it.
func (a *asked) filesOf(symbol string) (*protoregistry.Files, error) {
	byName := map[string]*descriptorpb.FileDescriptorProto{}
	take := func(request *reflection.ServerReflectionRequest) error {
		answer, err := a.exchange(request)
		if err != nil {
			return err
		}
		for _, bytes := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
			file := new(descriptorpb.FileDescriptorProto)
			if err := proto.Unmarshal(bytes, file); err != nil {
				return err
			}
			byName[file.GetName()] = file
		}
		return nil
	}
	err := take(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
	})
	for missing := missingIn(byName); err == nil && missing != ""; missing = missingIn(byName) {
		err = take(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: missing},
		})
		if err == nil && byName[missing] == nil {
			err = fmt.Errorf("the server gave another file than %s", missing)
		}
	}
	if err != nil {
		return nil, err
	}
	set := new(descriptorpb.FileDescriptorSet)
	for _, file := range byName {
		set.File = append(set.File, file)
	}
	return protodesc.NewFiles(set)
}

func missingIn(files map[string]*descriptorpb.FileDescriptorProto) string {
	for _, file := range files {
		for _, name := range file.GetDependency() {
			if files[name] == nil {
				return name
			}
		}
	}
	return ""
}

func (a *asked) exchange(request *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
	if err := a.stream.Send(request); err != nil {
		return nil, err
	}
	answer, err := a.stream.Recv()
	if err != nil {
		return nil, err
	}
	if refused := answer.GetErrorResponse(); refused != nil {
		return nil, status.Error(codes.Code(refused.GetErrorCode()), refused.GetErrorMessage())
	}
	return answer, nil
}
