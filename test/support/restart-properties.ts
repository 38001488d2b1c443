/**
 * Whatever is wished: a new process recognises what an old one has written, and leaves nothing unwritten that an apply
 * would have changed. The judge is the server, which knows whether an apply changes something.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Kube, KubeObject, ObjectAt } from "../../src/kube/kube.ts";
import { type Owned, ownedFields } from "../../src/kube/owned-fields.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { isRecord } from "../../src/runtime/is-record.ts";
import { anyObject, anyTwoObjects } from "./kube/random-objects.ts";

/** A cluster, and a place in it where nothing is yet. */
export interface Place {
  connect(): Kube;
  readonly at: ObjectAt;
}

type InPlace = (check: (place: Place) => Promise<void>) => Promise<void>;

export async function checkNothingIsWrittenAgain(inPlace: InPlace, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(anyObject, ({ kind, object }) =>
    inPlace(async ({ connect, at }) => {
      await connect().apply(kind, object(at));
      const restarted = connect();
      assert.equal((await restarted.apply(kind, object(at))).written, false, JSON.stringify(object(at)));
      assert.equal(restarted.counts.requests, 1);
    }),
  );
  await fc.assert(property, { numRuns });
}

export async function checkNothingIsLeftUnwritten(inPlace: InPlace, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(anyTwoObjects, ([first, second]) =>
    inPlace(async ({ connect, at }) => {
      const { kind } = second;
      const [before, after] = [first, second].map((wish) => withoutEmptyRecords(wish.object(at))) as [
        KubeObject,
        KubeObject,
      ];
      await connect().apply(kind, before);
      const isWritten = await connect()
        .apply(kind, after)
        .then(() => true, isRefused);
      fc.pre(isWritten);
      // What was taken out may leave less behind than was wished; then the next one puts that in.
      await connect().apply(kind, after);
      const restarted = connect();
      const { written, object } = await restarted.apply(kind, after);
      const what = () => JSON.stringify([before, after]);
      assert.equal(written, false, what());
      // One that knows of nothing sends it.
      const sent = await connect().apply(kind, after, { live: null });
      assert.deepEqual(
        contentOf(sent.object, restarted.fieldManager),
        contentOf(object, restarted.fieldManager),
        what(),
      );
    }),
  );
  await fc.assert(property, { numRuns });
}

/** All that an apply could change, and nobody else changes meanwhile. */
function contentOf(object: KubeObject | undefined, fieldManager: string): unknown {
  assert.ok(object);
  const { status: _, metadata, ...rest } = object;
  const { labels, annotations = {} } = metadata;
  const { "deployment.kubernetes.io/revision": __, ...others } = annotations;
  return { ...rest, labels, annotations: others, ours: withoutNothing(ownedFields(object, fieldManager).fields) };
}

/** Without what we own and the server left out: whether that is ours says nothing, so it is not worth a write. */
function withoutNothing(owned: Owned): Owned {
  if (owned.is === "list") return { ...owned, elements: owned.elements.map(withoutNothing) };
  if (owned.is !== "record") return owned;
  const kept = Object.entries(owned.fields).filter(([, field]) => !(field.is === "whole" && field.value === undefined));
  return { ...owned, fields: Object.fromEntries(kept.map(([name, field]) => [name, withoutNothing(field)])) };
}

/** Who wishes no field of them would own them, which says nothing, so it is not worth a write. */
const shared = [
  "labels",
  "annotations",
  "data",
  "stringData",
  "strategy",
  "securityContext",
  "resources",
  "limits",
  "requests",
];

function withoutEmptyRecords<T>(wishes: T): T {
  const drop = (name: string, value: unknown) => (shared.includes(name) && isEmptyRecord(value) ? undefined : value);
  // Twice: what holds an empty one may then be empty too.
  return JSON.parse(JSON.stringify(JSON.parse(JSON.stringify(wishes, drop)), drop)) as T;
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

/** What may not change is rejected; then there is nothing to see. */
function isRefused(thrown: unknown): false {
  if (ProviderError.is(thrown, "AKP_KUBE_REFUSED")) return false;
  throw thrown;
}
