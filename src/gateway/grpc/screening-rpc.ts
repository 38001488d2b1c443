/** Would we bid on this? BidScreening of akash.provider.v1.ProviderRPC, and ValidateGroupSpec, which is the same. */
import { readGroupSpec, writeUnitResources } from "../../chain/codec/group-spec.ts";
import { formatDecimal } from "../../market/decimal.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { ProviderError } from "../../runtime/errors.ts";
import {
  type deploymentV1beta4GroupSpec,
  providerV1BidScreeningRequest,
  providerV1BidScreeningResponse,
} from "../../runtime/grpc/akash-proto.ts";
import { GrpcRefusal, grpcCodes, readRequest } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../runtime/grpc/methods.ts";
import { type Decoded, withFewItems } from "../../runtime/protobuf.ts";
import { answerBid, type BidAnswer, type ScreeningDeps } from "../screening/bid-answer.ts";
import { ScreeningBusy } from "../screening/screener.ts";
import { type Identify, ownerOf } from "./grpc-auth.ts";
import type { GrpcService } from "./grpc-gateway.ts";

export const screeningHosts = 100;
/** Of all lists in a group over gRPC; of what is larger nothing is read. */
const screeningItems = 20_000;

const screeningRequest = withFewItems(providerV1BidScreeningRequest, screeningItems);

/** Without what decides on orders nobody is told anything. */
export function screeningMethods(identify: Identify, screening: ScreeningDeps | undefined): GrpcService["methods"] {
  const method: GrpcMethod = {
    kind: "unary",
    authenticate: async (call) => ownerOf(await identify(call)),
    async answer(bytes, call) {
      const owner = ownerOf(await identify(call));
      if (!screening) throw new GrpcRefusal(grpcCodes.Unavailable, "the provider does not bid");
      const { groupSpec, hostnames: hosts } = readRequest("BidScreeningRequest", screeningRequest, bytes);
      if (hosts.length > screeningHosts) {
        throw new GrpcRefusal(grpcCodes.InvalidArgument, `it has more than ${screeningHosts} hostnames`);
      }
      const group = groupSpec && groupOf(groupSpec);
      return { message: written(await answerBid(screening, { owner, group, hosts }, call.signal).catch(busy)) };
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
    return readGroupSpec({ ...spec, resources });
  } catch (thrown) {
    const { message } = ProviderError.from(thrown);
    throw new GrpcRefusal(grpcCodes.InvalidArgument, `this is no GroupSpec: ${message}`);
  }
}

/** A decimal travels as a whole number of its smallest part. */
function decimalText(wire: string): string {
  return /^-?\d{1,78}$/.test(wire) ? formatDecimal({ atto: BigInt(wire) }) : wire || "0";
}

function written(answer: BidAnswer): Uint8Array {
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
  throw new GrpcRefusal(grpcCodes.ResourceExhausted, thrown.message, { "retry-after": `${thrown.retryAfterS}` });
}
