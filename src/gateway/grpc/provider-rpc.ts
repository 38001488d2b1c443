/** akash.provider.v1.ProviderRPC: what anybody may know of the provider, in protobuf. */
import { providerV1ServiceFile } from "../../runtime/grpc/akash-proto.ts";
import type { GrpcMethod } from "../../runtime/grpc/methods.ts";
import type { ScreeningDeps } from "../screening/bid-answer.ts";
import type { Identify } from "./grpc-auth.ts";
import type { GrpcService } from "./grpc-gateway.ts";
import { screeningMethods } from "./screening-rpc.ts";

interface ProviderRpcDeps {
  /** The message as it is now. */
  readonly status: () => Uint8Array;
  readonly identify: Identify;
  readonly screening: ScreeningDeps | undefined;
}

export function createProviderRpc({ status, identify, screening }: ProviderRpcDeps): GrpcService {
  const getStatus: GrpcMethod = {
    kind: "unary",
    answer(_, call) {
      // Anybody may ask, but with credentials that are good if there are any.
      const who = identify(call);
      return who instanceof Promise ? who.then(() => ({ message: status() })) : { message: status() };
    },
  };
  return {
    file: providerV1ServiceFile,
    methods: [["/akash.provider.v1.ProviderRPC/GetStatus", getStatus], ...screeningMethods(identify, screening)],
  };
}
