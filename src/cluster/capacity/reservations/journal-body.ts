/** A reservation as its row of the journal has it. What was set aside is written down, whatever the settings say later. */
import { z } from "zod";
import type { JsonObject } from "../../../bus/topics.ts";
import type { CardDemand } from "../../../market/gpu-attributes.ts";
import { jsonText } from "../../../runtime/json-text.ts";
import { noVolumes, type Reservation, replicaOf } from "./reservation.ts";

/** Another version is read by another schema; one that nobody knows is no reservation. */
const version = 1;

const amount = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform((text) => BigInt(text));
const attributes = z.array(z.strictObject({ key: z.string(), value: z.string() }));

const unit = z.strictObject({
  id: z.int(),
  cpu: z.strictObject({ milli: amount, attributes }),
  memory: z.strictObject({ bytes: amount, attributes }),
  gpu: z.strictObject({ count: amount, attributes }),
  storage: z.array(z.strictObject({ name: z.string(), bytes: amount, attributes })),
  endpoints: z.array(
    z.strictObject({
      kind: z.enum(["shared-http", "random-port", "leased-ip", "unknown"]),
      sequenceNumber: z.int(),
    }),
  ),
});

const cards = z.strictObject({
  vendor: z.string(),
  model: z.string(),
  memoryGi: amount.optional(),
  interface: z.string().optional(),
});

const replica = z.strictObject({
  unit: z.int(),
  node: z.string(),
  amounts: z.array(amount),
  classes: z.array(z.tuple([z.string(), amount])),
  cards: cards.optional(),
  requests: z.strictObject({ cpuMilli: amount, memoryBytes: amount, gpus: amount }),
});

const body = z.strictObject({
  version: z.literal(version),
  expiresAtMs: z.number(),
  addresses: z.int(),
  offer: z.array(unit),
  replicas: z.array(replica),
});

export function bodyOf({ expiresAtMs, addresses, offer, replicas }: Reservation): JsonObject {
  const rows = replicas.map(({ unit, requests: { volumes: _counted, ...requests }, onNode, classes: volumes }) => {
    const { node, amounts, cards } = onNode.claim;
    const classes = [...volumes];
    return { unit, node, amounts, classes, ...(cards && { cards }), requests };
  });
  return JSON.parse(jsonText({ version, expiresAtMs, addresses, offer, replicas: rows }));
}

/** Undefined where it makes no sense. */
export function readBody(orderId: string, json: unknown): Reservation | undefined {
  const read = body.safeParse(json).data;
  return (
    read && {
      orderId,
      offer: read.offer,
      replicas: read.replicas.map(({ unit, node, amounts, classes, cards, requests }) =>
        replicaOf(unit, { node, amounts, classes: new Map(classes), cards: cards && cardDemand(cards) }, requests),
      ),
      volumes: noVolumes(),
      addresses: read.addresses,
      expiresAtMs: read.expiresAtMs,
    }
  );
}

function cardDemand({ vendor, model, memoryGi, interface: kind }: z.infer<typeof cards>): CardDemand {
  return {
    vendor,
    model,
    ...(memoryGi !== undefined && { memoryGi }),
    ...(kind !== undefined && { interface: kind }),
  };
}
