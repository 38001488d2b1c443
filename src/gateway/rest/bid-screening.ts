/** Screening before there is an order: whether a group is valid, and whether the provider would bid on it. */
import { formatDecimal } from "../../market/decimal.ts";
import { type GoJson, isList, readFirstValue } from "../../market/go-json.ts";
import { foldName } from "../../market/go-shape.ts";
import { readGroupJson, writeUnit } from "../../market/group-json.ts";
import { exceededLimit, faultsOfGroup } from "../../market/group-rules.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { screeningHosts } from "../grpc/provider-rpc.ts";
import { type ScreeningDeps, type ScreeningResult, screenBid } from "../screening/bid-answer.ts";
import { ScreeningBusy } from "../screening/screener.ts";
import { failure, json, type RestAnswer, withHeader } from "./answer.ts";
import type { OwnerRequest, RestRequest, Route } from "./route.ts";

/** Body of a group: a thousand attributes of a hundred characters. */
const screeningBytes = 256 * 1024;

const body = { types: ["application/json"], mostBytes: screeningBytes };
/** A group of 250 units has some ten thousand values. */
const bounds = { mostDepth: 32, mostValues: 20_000 };

/** Without `deps` groups are only validated. */
export function screeningRoutes(deps: ScreeningDeps | undefined): Route[] {
  async function screen({ body: bytes, owner, signal }: OwnerRequest): Promise<RestAnswer> {
    if (!deps) return failure(503, "the provider does not bid");
    const request = read(bytes, readRequest);
    if (request instanceof SyntaxError) return failure(400, request.message);
    return written(await screenBid(deps, { ...request, owner }, signal));
  }

  return [
    {
      ...{ method: "GET", path: "/validate", access: "public", body },
      about: "Whether a group is valid on the network.",
      answers: { 200: "It is valid; the group as it was read.", 422: "What is wrong with it." },
      handle({ body: bytes }: RestRequest) {
        const spec = read(bytes, readGroupJson);
        if (spec instanceof SyntaxError) return failure(422, spec.message);
        const excess = exceededLimit(spec.group);
        const faults = excess === undefined ? faultsOfGroup(spec.group) : [excess];
        return faults.length > 0 ? failure(422, `group validation error: ${faults.join("; ")}`) : json(spec.text);
      },
    },
    {
      ...{ method: "POST", path: "/v1/bid-screening", access: "owner", body },
      about: "Whether the provider would bid on the group now, and at which price. Nothing is reserved.",
      answers: {
        200: "Whether it passed; if so with offer and price, if not with reasons.",
        400: "The body cannot be read.",
        401: "The credentials do not permit it.",
        429: "Too many requests, or orders are pending: retry after `Retry-After` seconds.",
        503: "The state of the chain or the cluster is unknown.",
      },
      handle: (request: OwnerRequest) => screen(request).catch(busy),
    },
  ];
}

function written(answer: ScreeningResult): RestAnswer {
  if (!answer.passed) return json(JSON.stringify(answer));
  const { price, offers } = answer;
  return json(
    JSON.stringify({
      passed: true,
      resource_offers: offers.map(({ resources, count }) => ({ resources: writeUnit(resources), count, prices: null })),
      price: price && { denom: price.denom, amount: formatDecimal(price.amount) },
    }),
  );
}

function busy(thrown: unknown): RestAnswer {
  if (!(thrown instanceof ScreeningBusy)) throw thrown;
  return withHeader(failure(429, thrown.message), "Retry-After", `${thrown.retryAfterS}`);
}

function read<T>(bytes: Uint8Array, by: (json: GoJson) => T): T | SyntaxError {
  try {
    return by(readFirstValue(Buffer.from(bytes).toString(), bounds));
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return thrown;
    throw thrown;
  }
}

function readRequest(json: GoJson): { readonly group: GroupSpec | undefined; readonly hosts: readonly string[] } {
  const spec = fieldOf(json, "group_spec");
  const hosts = fieldOf(json, "hostnames") ?? [];
  if (!isList(hosts) || !hosts.every((host) => typeof host === "string"))
    throw new SyntaxError("json: cannot unmarshal hostnames into Go value of type []string");
  if (hosts.length > screeningHosts) throw new SyntaxError(`it has more than ${screeningHosts} hostnames`);
  return { group: spec ? readGroupJson(spec).group : undefined, hosts };
}

/** The last field of that name, as in Go. */
function fieldOf(json: GoJson, name: string): GoJson | undefined {
  if (json === null) return undefined;
  if (typeof json !== "object" || !("fields" in json))
    throw new SyntaxError("json: cannot unmarshal the body into Go value of type BidScreeningRequest");
  return json.fields.findLast(([given]) => foldName(given) === name)?.[1];
}
