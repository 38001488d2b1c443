/** akash.provider.v1.ProviderRPC: the provider's public status, and bid screening. */
import { decodeGroupSpec, writeUnitResources } from "../../chain/codec/group-spec.ts";
import { formatDecimal } from "../../market/decimal.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import {
  type deploymentV1beta4GroupSpec,
  providerV1BidScreeningRequest,
  providerV1BidScreeningResponse,
  providerV1ServiceFile,
} from "../../runtime/grpc/akash-proto.ts";
import { GrpcError, grpcCodes, readRequest } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../runtime/grpc/methods.ts";
import { type Decoded, messageOf, withFewItems } from "../../runtime/protobuf.ts";
import { type ScreeningDeps, type ScreeningResult, screenBid } from "../screening/bid-answer.ts";
import { ScreeningBusy } from "../screening/screener.ts";
import type { StatusMessage } from "../status/status-message.ts";
import { callerAccount, callerOwner, type Identify } from "./grpc-auth.ts";
import type { GrpcService } from "./grpc-gateway.ts";
import { followedStatusMs } from "./lease-rpc.ts";

interface ProviderRpcDeps {
  readonly status: () => StatusMessage;
  readonly identify: Identify;
  readonly screening: ScreeningDeps | undefined;
  readonly clock: Clock;
}

const empty = messageOf({});

export function createProviderRpc({ status, identify, screening, clock }: ProviderRpcDeps): GrpcService {
  const nextCheck = shareOne(() => sleep(clock, followedStatusMs));
  // Anonymous callers are permitted, invalid credentials are not.
  const authenticate = callerAccount(identify);

  const getStatus: GrpcMethod = {
    kind: "unary",
    authenticate,
    answer(request, call) {
      if (request.length > 0) readRequest("Empty", empty, request);
      const identity = identify(call);
      const answer = () => ({ message: status().message });
      return identity instanceof Promise ? identity.then(answer) : answer();
    },
  };

  const streamStatus: GrpcMethod = {
    kind: "stream",
    authenticate,
    async *answers(request, call) {
      readRequest("Empty", empty, request);
      await identify(call);
      for (let last: Uint8Array | undefined; !call.signal.aborted; await nextCheck()) {
        const { content, message } = status();
        if (content !== last) yield message;
        last = content;
      }
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

/** Followers share one timer; none runs without followers. */
function shareOne(start: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  return () => {
    current ??= start().then(() => {
      current = undefined;
    });
    return current;
  };
}

// BidScreening, and ValidateGroupSpec, which does the same.

export const screeningHosts = 100;
const screeningItems = 20_000;

const screeningRequest = withFewItems(providerV1BidScreeningRequest, screeningItems);

export function screeningMethods(identify: Identify, screening: ScreeningDeps | undefined): GrpcService["methods"] {
  const method: GrpcMethod = {
    kind: "unary",
    authenticate: async (call) => callerOwner(await identify(call)),
    async answer(bytes, call) {
      const owner = callerOwner(await identify(call));
      if (!screening) throw new GrpcError(grpcCodes.Unavailable, "the provider does not bid");
      const { groupSpec, hostnames: hosts } = readRequest("BidScreeningRequest", screeningRequest, bytes);
      if (hosts.length > screeningHosts) {
        throw new GrpcError(grpcCodes.InvalidArgument, `more than ${screeningHosts} hostnames`);
      }
      const group = groupSpec && groupOf(groupSpec);
      return { message: written(await screenBid(screening, { owner, group, hosts }, call.signal).catch(busy)) };
    },
  };
  return [
    ["/akash.provider.v1.ProviderRPC/BidScreening", method],
    ["/akash.provider.v1.ProviderRPC/ValidateGroupSpec", method],
  ];
}

function groupOf(spec: Decoded<typeof deploymentV1beta4GroupSpec>): GroupSpec {
  const resources = spec.resources.map(({ price, ...unit }) => ({
    ...unit,
    price: price && { denom: price.denom, amount: decimalText(price.amount) },
  }));
  try {
    return decodeGroupSpec({ ...spec, resources });
  } catch (thrown) {
    const { message } = ProviderError.from(thrown);
    throw new GrpcError(grpcCodes.InvalidArgument, `invalid GroupSpec: ${message}`);
  }
}

/** A decimal is encoded as an integer of 10⁻¹⁸. */
function decimalText(wire: string): string {
  return /^-?\d{1,78}$/.test(wire) ? formatDecimal({ atto: BigInt(wire) }) : wire || "0";
}

function written(result: ScreeningResult): Uint8Array {
  const { reasons, offers, price } = { reasons: [], offers: [], price: undefined, ...result };
  return providerV1BidScreeningResponse.encode({
    passed: result.passed,
    reasons: [...reasons],
    resourceOffers: offers.map(({ resources, count }) => ({
      ...{ resources: writeUnitResources(resources), count, prices: undefined },
    })),
    price: price && { denom: price.denom, amount: `${price.amount.atto}` },
  });
}

function busy(thrown: unknown): never {
  if (!(thrown instanceof ScreeningBusy)) throw thrown;
  throw new GrpcError(grpcCodes.ResourceExhausted, thrown.message, { "retry-after": `${thrown.retryAfterS}` });
}
