/** akash.provider.v1.ProviderRPC: what anybody may know of the provider, and whether it would bid on something. */

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
  const follow = createStatusChanges(status, clock);

  const getStatus: GrpcMethod = {
    kind: "unary",
    authenticate: callerAccount(identify),
    answer(request, call) {
      if (request.length > 0) readRequest("Empty", empty, request);
      // Anybody may ask, but with credentials that are good if there are any.
      const who = identify(call);
      return who instanceof Promise ? who.then(() => ({ message: status().message })) : { message: status().message };
    },
  };

  const streamStatus: GrpcMethod = {
    kind: "stream",
    authenticate: callerAccount(identify),
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

// Would we bid on this? BidScreening of akash.provider.v1.ProviderRPC, and ValidateGroupSpec, which is the same.

export const screeningHosts = 100;
const screeningItems = 20_000;

const screeningRequest = withFewItems(providerV1BidScreeningRequest, screeningItems);

/** Without what decides on orders nobody is told anything. */
export function screeningMethods(identify: Identify, screening: ScreeningDeps | undefined): GrpcService["methods"] {
  const method: GrpcMethod = {
    kind: "unary",
    authenticate: async (call) => callerOwner(await identify(call)),
    async answer(bytes, call) {
      const owner = callerOwner(await identify(call));
      if (!screening) throw new GrpcError(grpcCodes.Unavailable, "the provider does not bid");
      const { groupSpec, hostnames: hosts } = readRequest("BidScreeningRequest", screeningRequest, bytes);
      if (hosts.length > screeningHosts) {
        throw new GrpcError(grpcCodes.InvalidArgument, `it has more than ${screeningHosts} hostnames`);
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
    throw new GrpcError(grpcCodes.InvalidArgument, `this is no GroupSpec: ${message}`);
  }
}

/** A decimal travels as a whole number of its smallest part. */
function decimalText(wire: string): string {
  return /^-?\d{1,78}$/.test(wire) ? formatDecimal({ atto: BigInt(wire) }) : wire || "0";
}

function written(answer: ScreeningResult): Uint8Array {
  if (!answer.passed) {
    return providerV1BidScreeningResponse.encode({
      ...{ passed: false, reasons: [...answer.reasons], resourceOffers: [], price: undefined },
    });
  }
  const { price, offers } = answer;
  return providerV1BidScreeningResponse.encode({
    passed: true,
    reasons: [],
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
