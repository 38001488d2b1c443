/** akash.provider.v1.ProviderRPC: what anybody may know of the provider, and whether it would bid on something. */
import type { Clock } from "../../runtime/clock.ts";
import { providerV1ServiceFile } from "../../runtime/grpc/akash-proto.ts";
import { readRequest } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../runtime/grpc/methods.ts";
import { messageOf } from "../../runtime/protobuf.ts";
import type { ScreeningDeps } from "../screening/bid-answer.ts";
import type { Identify } from "./grpc-auth.ts";
import type { GrpcService } from "./grpc-gateway.ts";
import { screeningMethods } from "./screening-rpc.ts";
import { createStatusChanges } from "./status-changes.ts";
import type { StatusMessage } from "./status-message.ts";

interface ProviderRpcDeps {
  readonly status: () => StatusMessage;
  readonly identify: Identify;
  readonly screening: ScreeningDeps | undefined;
  readonly clock: Clock;
}

const empty = messageOf({});

export function createProviderRpc({ status, identify, screening, clock }: ProviderRpcDeps): GrpcService {
  const follow = createStatusChanges(status, clock);

  const getStatus: GrpcMethod = {
    kind: "unary",
    authenticate: identify,
    answer(request, call) {
      if (request.length > 0) readRequest("Empty", empty, request);
      // Anybody may ask, but with credentials that are good if there are any.
      const who = identify(call);
      return who instanceof Promise ? who.then(() => ({ message: status().message })) : { message: status().message };
    },
  };

  const streamStatus: GrpcMethod = {
    kind: "stream",
    authenticate: identify,
    async *answers(request, call) {
      readRequest("Empty", empty, request);
      await identify(call);
      yield* follow(call.signal);
    },
  };

  return {
    file: providerV1ServiceFile,
    methods: [
      ["/akash.provider.v1.ProviderRPC/GetStatus", getStatus],
      ["/akash.provider.v1.ProviderRPC/StreamStatus", streamStatus],
      ...screeningMethods(identify, screening),
    ],
  };
}
