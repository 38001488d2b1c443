/** Definitions of custom resources, whose spec and status take whatever they are given unless a test says more. */
import { randomBytes } from "node:crypto";
import { customDefinition } from "../../../src/box/cluster/custom-definition.ts";
import { type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { ProviderError } from "../../../src/runtime/errors.ts";
import { eventually } from "../eventually.ts";
import { clusterMs } from "./kube-objects.ts";

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export function definitionOf(kind: Kind, properties: Readonly<Record<string, unknown>> = {}): KubeObject {
  return customDefinition(kind, { spec: anything, status: anything, ...properties });
}

/** Of a group that no other test has. */
export function ownKind(): Kind {
  const group = `g${randomBytes(4).toString("hex")}.example.com`;
  return { group, version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true };
}

/** Gone again at the end of the test: a definition is there for the whole cluster. */
export async function define(kube: Kube, kind: Kind, properties = {}): Promise<AsyncDisposable> {
  const definition = definitionOf(kind, properties);
  await kube.create(kinds.customResourceDefinition, definition);
  return {
    async [Symbol.asyncDispose]() {
      await kube.delete(kinds.customResourceDefinition, definition.metadata);
    },
  };
}

/** A real server needs a moment until it serves what was defined. */
export async function applyWhenServed(kube: Kube, kind: Kind, object: KubeObject): Promise<void> {
  await eventually(
    "the kind",
    async () => {
      try {
        return await kube.apply(kind, object);
      } catch (thrown) {
        if (ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING")) return undefined;
        throw thrown;
      }
    },
    clusterMs,
  );
}
