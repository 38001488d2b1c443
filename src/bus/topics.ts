/**
 * What travels on the bus. Events carry keys only: they wake a loop early and never carry the work, so that losing one
 * costs time and nothing else.
 */
import { z } from "zod";
import { isRecord } from "../runtime/is-record.ts";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/** An id in its canonical text, "owner/dseq/…", or the version of a manifest. */
const key = z.string().min(1).max(256);

/** A status is the business of the service that publishes it. */
const status = z.custom<JsonObject>(isRecord, "this is not a JSON object");

const orderEvent = z.strictObject({ kind: z.enum(["OrderCreated", "OrderClosed"]), order: key });
const leaseEvent = z.strictObject({ kind: z.enum(["LeaseCreated", "LeaseClosed", "LeaseHealthChanged"]), lease: key });
const manifestEvent = z.strictObject({ kind: z.literal("ManifestReceived"), lease: key, version: key });

/** A stream holds one topic, or a family of topics when its name ends in "*". `keep` names its bound in Redis. */
export const streams = {
  "akash.provider.cluster.status": { payload: status, keep: "busStreamSnapshots" },
  "akash.provider.bidengine.status": { payload: status, keep: "busStreamSnapshots" },
  "akash.provider.manifest.status": { payload: status, keep: "busStreamSnapshots" },
  "akash.provider.inventory.status": { payload: status, keep: "busStreamSnapshots" },
  "inventory.cluster": { payload: status, keep: "busStreamSnapshots" },
  "inventory.nodes": { payload: status, keep: "busStreamSnapshots" },
  "inventory.storage": { payload: status, keep: "busStreamSnapshots" },
  "akash.provider.balance.*": { payload: status, keep: "busStreamEntries" },
  "akash.provider.event.order": { payload: orderEvent, keep: "busStreamEntries" },
  "akash.provider.event.lease": { payload: leaseEvent, keep: "busStreamEntries" },
  "akash.provider.event.manifest": { payload: manifestEvent, keep: "busStreamEntries" },
} as const;

export type StreamName = keyof typeof streams;

type TopicsOf<S extends StreamName> = S extends `${infer Family}*` ? `${Family}${string}` : S;
export type Topic = TopicsOf<StreamName>;

/** What a message on this topic says. */
export type Payload<T extends Topic> = {
  [S in StreamName]: T extends TopicsOf<S> ? z.infer<(typeof streams)[S]["payload"]> : never;
}[StreamName];

/** A topic, or the beginning of some followed by "*". */
export type TopicPattern = Topic | `${string}*`;

/** The topics that a pattern names. */
export type TopicsMatching<P extends TopicPattern> = P extends `${infer Start}*`
  ? Extract<Topic, `${Start}${string}`> | Extract<`${Start}${string}`, Topic>
  : P;

/** Why this cannot be the data of a message on that stream, if it cannot. */
export function problemWith(stream: StreamName, data: unknown): string | undefined {
  const payload: z.ZodType = streams[stream].payload;
  const issue = payload.safeParse(data).error?.issues[0];
  return issue && [issue.path.join("."), issue.message].filter(Boolean).join(": ");
}

/** The last part of a topic of a family: readable in a key of Redis and in the label of a metric. */
const memberName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export const streamNames = Object.keys(streams) as StreamName[];

const families = streamNames.filter((name) => name.endsWith("*"));

/** The stream that holds this topic; none when it is not a topic of ours. */
export function streamOf(topic: string): StreamName | undefined {
  if (topic.endsWith("*")) return undefined;
  if (Object.hasOwn(streams, topic)) return topic as StreamName;
  return families.find((name) => topic.startsWith(startOf(name)) && memberName.test(topic.slice(startOf(name).length)));
}

export function matches(pattern: TopicPattern, topic: string): boolean {
  return pattern.endsWith("*") ? topic.startsWith(startOf(pattern)) : topic === pattern;
}

/** The streams that may hold a topic of this pattern. */
export function streamsMatching(pattern: TopicPattern): StreamName[] {
  if (!pattern.endsWith("*")) return streamNames.filter((name) => name === streamOf(pattern));
  const start = startOf(pattern);
  return streamNames.filter(
    (name) => name.startsWith(start) || (name.endsWith("*") && start.startsWith(startOf(name))),
  );
}

function startOf(pattern: string): string {
  return pattern.slice(0, -1);
}
