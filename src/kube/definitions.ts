/** The definitions of the network's custom resources, in deploy/crds. */
import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { type Clock, sleep } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { type Kind, kinds } from "./kinds.ts";
import type { CallOptions, Kube, KubeObject, WriteOptions } from "./kube.ts";

/** From a definition of a custom resource to its first list; usually a second. */
const kubeDefinitionMs = 30 * second;
const kubeDefinitionPollMs = 200;

const folder = new URL("../../deploy/crds/", import.meta.url);

export function readDefinitions(): KubeObject[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  return names.sort().map((name) => parse(readFileSync(new URL(name, folder), "utf8")) as KubeObject);
}

/** Resolves when the server serves the kinds. Definitions of a Helm chart are overwritten. */
export async function installDefinitions(
  kube: Pick<Kube, "apply" | "list">,
  clock: Clock,
  { dryRun = false, ...call }: WriteOptions = {},
) {
  const installed: { readonly name: string; readonly written: boolean; readonly warnings: readonly string[] }[] = [];
  for (const definition of readDefinitions()) {
    const options = { ...call, force: true, dryRun };
    const { written, warnings } = await kube.apply(kinds.customResourceDefinition, definition, options);
    installed.push({ name: definition.metadata.name, written, warnings });
  }
  const defined = [kinds.manifest, kinds.providerHost, kinds.providerLeasedIp];
  if (!dryRun) await Promise.all(defined.map((kind) => untilServed(kube, kind, clock, call)));
  return installed;
}

/** A server accepts a definition some moments before it serves the kind. */
async function untilServed(kube: Pick<Kube, "list">, kind: Kind, clock: Clock, call: CallOptions): Promise<void> {
  const giveUpAtMs = clock.monotonicMs() + kubeDefinitionMs;
  for (;;) {
    try {
      await kube.list(kind, { ...call, labelSelector: "akash.network=none" });
      return;
    } catch (thrown) {
      const isEarly = ProviderError.is(thrown, "AKP_KUBE_KIND_MISSING") && clock.monotonicMs() < giveUpAtMs;
      if (!isEarly) throw thrown;
    }
    await sleep(clock, kubeDefinitionPollMs, call.signal);
  }
}
