/** What travels on the bus; docs/bus.md describes it. Events carry keys only, so that losing one costs time and nothing else. */
import { z } from "zod";
import { isRecord, type JsonObject } from "../runtime/is-record.ts";

export type { Json, JsonObject } from "../runtime/is-record.ts";

/** An id in its canonical text, "owner/dseq/…", or the version of a manifest. */
const key = z.string().min(1).max(256);
const amount = z.string().min(1).max(100).optional();
const low = { denom: key, threshold: z.enum(["minimum", "bid", "warn"]), low: z.boolean() };
const escrow = { deployment: key, leases: z.array(key), state: z.enum(["soon", "spent"]), height: key };
const settled = { received: amount, fee: amount, height: amount, reason: z.string().optional() };
const orderKinds = z.enum(["OrderCreated", "OrderClosed"]);
const leaseKinds = z.enum(["LeaseCreated", "LeaseClosed", "LeaseHealthChanged"]);
const manifestKinds = z.enum(["ManifestReceived", "ManifestWithdrawn"]);
/** Its fields are those of the service that publishes it. */
const document = z.custom<JsonObject>(isRecord, "this is not a JSON object");

/** A retained topic keeps its last value for later subscribers. It has one publisher. */
const retained = <P extends z.ZodType>(payload: P) => ({ payload, retained: true }) as const;
const event = <P extends z.ZodRawShape>(fields: P) => ({ payload: z.strictObject(fields), retained: false }) as const;

export const topics = {
  "akash.provider.cluster.status": retained(document),
  "akash.provider.bidengine.status": retained(document),
  "akash.provider.manifest.status": retained(document),
  "akash.provider.inventory.status": retained(document),
  "inventory.cluster": retained(document),
  "inventory.nodes": retained(document),
  "inventory.storage": retained(document),
  "akash.provider.balance.wallet": retained(z.strictObject({ wallet: z.array(document) })),
  "akash.provider.balance.low": event(low),
  "akash.provider.balance.escrow": event(escrow),
  "akash.provider.balance.withdrawal": event({ lease: key, state: z.enum(["done", "failed"]), ...settled }),
  "akash.provider.event.order": event({ kind: orderKinds, order: key }),
  "akash.provider.event.lease": event({ kind: leaseKinds, lease: key }),
  "akash.provider.event.manifest": event({ kind: manifestKinds, lease: key, version: key }),
};

export type Topic = keyof typeof topics;
export type Payload<T extends Topic> = z.infer<(typeof topics)[T]["payload"]>;

export const topicNames = Object.keys(topics) as Topic[];

/** A topic, or the beginning of some followed by "*". */
export type TopicPattern = Topic | `${string}*`;
export type TopicsMatching<P extends string> = P extends `${infer Start}*` ? Extract<Topic, `${Start}${string}`> : P;

export function topicsMatching(pattern: string): Topic[] {
  const start = pattern.slice(0, -1);
  return topicNames.filter((topic) => (pattern.endsWith("*") ? topic.startsWith(start) : topic === pattern));
}

/** Why this cannot be the payload of that topic; undefined when it can. */
export function payloadProblem(topic: Topic, data: unknown): string | undefined {
  const payload: z.ZodType = topics[topic].payload;
  const issue = payload.safeParse(data).error?.issues[0];
  return issue && [issue.path.join("."), issue.message].filter(Boolean).join(": ");
}
