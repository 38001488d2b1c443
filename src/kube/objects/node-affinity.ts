/** On which nodes a service may run. The inventory operator labels them, ours or another's: both must match. */
import type { CardDemand } from "../../market/gpu-attributes.ts";
import { labelKeys, storageClassReadings } from "../node-labels.ts";
import { cardsOf } from "./cards.ts";
import type { ServiceWorkload } from "./service-workload.ts";
import { persistentClasses } from "./volumes.ts";

interface Expression {
  readonly key: string;
  readonly operator: "In" | "Gt";
  readonly values: readonly string[];
}

export function nodeAffinity(workload: ServiceWorkload): object {
  const cards = cardsOf(workload);
  const classes = persistentClasses(workload.service).map(hasClass);
  const termOf = (gpu: readonly Expression[]) => ({ matchExpressions: [ours, ...gpu, ...classes] });
  // Any one of the terms will do.
  const nodeSelectorTerms = cards.length === 0 ? [termOf([])] : cards.map((card) => termOf(hasCard(card)));
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
}

const ours: Expression = { key: labelKeys.node, operator: "In", values: ["true"] };

function hasClass(name: string): Expression {
  return { key: labelKeys.storageClass(name), operator: "In", values: storageClassReadings };
}

/** Memory and interface each by itself: no operator but ours has a label for both together. */
function hasCard({ vendor, model, memoryGi, interface: kind }: CardDemand): Expression[] {
  if (model === "*") return [];
  const selections = [
    { vendor, model },
    ...(memoryGi === undefined ? [] : [{ vendor, model, ram: `${memoryGi}Gi` }]),
    ...(kind === undefined ? [] : [{ vendor, model, interface: kind }]),
  ];
  return selections.map((selection) => ({ key: labelKeys.gpuCount(selection), operator: "Gt", values: ["0"] }));
}
