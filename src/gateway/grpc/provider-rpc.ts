/** akash.provider.v1.ProviderRPC: what anybody may know of the provider, and whether it would bid on something. */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { providerV1ServiceFile } from "../../runtime/grpc/akash-proto.ts";
import { readRequest } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../runtime/grpc/methods.ts";
import { messageOf } from "../../runtime/protobuf.ts";
import type { ScreeningDeps } from "../screening/bid-answer.ts";
import { accountOf, type Identify } from "./grpc-auth.ts";
import type { GrpcService } from "./grpc-gateway.ts";
import { followedStatusMs } from "./lease-rpc.ts";
import { screeningMethods } from "./screening-rpc.ts";
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
    authenticate: accountOf(identify),
    answer(request, call) {
      if (request.length > 0) readRequest("Empty", empty, request);
      // Anybody may ask, but with credentials that are good if there are any.
      const who = identify(call);
      return who instanceof Promise ? who.then(() => ({ message: status().message })) : { message: status().message };
    },
  };

  const streamStatus: GrpcMethod = {
    kind: "stream",
    authenticate: accountOf(identify),
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

// Tells those who follow the status of each change: one look at a time for all of them, and none while nobody follows.

/** The status as it is, then as often as it changes; who is slow finds the newest next. */
type FollowStatus = (signal: AbortSignal) => AsyncGenerator<Uint8Array, void>;

function createStatusChanges(status: () => StatusMessage, clock: Clock): FollowStatus {
  let next: Promise<void> | undefined;

  /** The same look for all who wait. */
  function nextLook(): Promise<void> {
    next ??= sleep(clock, followedStatusMs).then(() => {
      next = undefined;
    });
    return next;
  }

  return async function* (signal) {
    for (let told: Uint8Array | undefined; !signal.aborted; await nextLook()) {
      const { content, message } = status();
      if (content === told) continue;
      told = content;
      yield message;
    }
  };
}
