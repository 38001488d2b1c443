/** What pods must be like: their volumes, and where they may run. */
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import type { Plain } from "../schema/shape.ts";
import { nano } from "./container-rules.ts";
import type { Found, Rule } from "./found.ts";
import { dnsLabel, subdomain } from "./texts.ts";

/** Names of volumes that come with the pod from elsewhere: those of claims that a stateful set makes. */
export function checkPodSpec(spec: Plain, at: string, found: Found, given: readonly string[] = []): void {
  const namesIn = (list: string) => recordsOf(spec[list]).map(({ name }) => name);
  const volumes = namesIn("volumes");
  found.when(listOf(spec["containers"]).length === 0, "Required", `${at}.containers`);
  found.duplicates(volumes, (index) => `${at}.volumes[${index}].name`);
  found.duplicates(namesIn("containers"), (index) => `${at}.containers[${index}].name`);
  const initNameAt = (index: number) => `${at}.initContainers[${index}].name`;
  found.duplicates(namesIn("initContainers"), initNameAt, namesIn("containers"));
  for (const list of ["containers", "initContainers"]) {
    recordsOf(spec[list]).forEach((container, index) => {
      const field = `${at}.${list}[${index}]`;
      checkMounts(container, [...volumes, ...given], field, found);
      if (spec["hostNetwork"] === true) checkHostPorts(container, field, found);
      if (list === "initContainers" && container["restartPolicy"] !== "Always") checkNoProbes(container, field, found);
    });
  }
  found.text(`${at}.hostname`, spec["hostname"], dnsLabel);
  for (const name of ["runtimeClassName", "serviceAccountName", "nodeName", "priorityClassName"]) {
    found.text(`${at}.${name}`, spec[name], subdomain);
  }
  found.labels(`${at}.nodeSelector`, spec["nodeSelector"]);
  found.within(`${at}.activeDeadlineSeconds`, spec["activeDeadlineSeconds"], 1, 2 ** 31 - 1);
  found.when(spec["dnsPolicy"] === "None" && spec["dnsConfig"] === undefined, "Required", `${at}.dnsConfig`);
}

function checkMounts(container: Plain, volumes: readonly unknown[], at: string, found: Found): void {
  const paths = new Set<unknown>();
  recordsOf(container["volumeMounts"]).forEach(({ name, mountPath, subPath = "" }, index) => {
    const field = `${at}.volumeMounts[${index}]`;
    found.when(Boolean(name) && !volumes.includes(name), "NotFound", `${field}.name`, name);
    found.when(Boolean(mountPath) && paths.has(mountPath), "Invalid", `${field}.mountPath`, mountPath);
    paths.add(mountPath);
    found.when(leadsOut(subPath) || String(subPath).startsWith("/"), "Invalid", `${at}.volumeMounts.subPath`, subPath);
  });
}

function leadsOut(path: unknown): boolean {
  return String(path).split("/").includes("..");
}

function checkHostPorts(container: Plain, at: string, found: Found): void {
  recordsOf(container["ports"]).forEach(({ containerPort, hostPort }, index) => {
    found.when(hostPort !== containerPort, "Invalid", `${at}.ports[${index}].hostPort`, hostPort);
  });
}

function checkNoProbes(container: Plain, at: string, found: Found): void {
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    found.when(container[probe] !== undefined, "Forbidden", `${at}.${probe}`);
  }
}

/** In the order in which the API server looks at them: all but the first are too many. */
const volumeSources =
  "emptyDir hostPath secret nfs persistentVolumeClaim downwardAPI configMap projected csi ephemeral".split(" ");

const volume: Rule = (value, at, found) => {
  found.text(`${at}.name`, value["name"], dnsLabel);
  const [, ...more] = volumeSources.filter((name) => value[name] !== undefined);
  for (const name of more) found.say("Forbidden", `${at}.${name}`);
  const { sizeLimit } = fieldsOf(value["emptyDir"]);
  found.when(sizeLimit !== undefined && nano(sizeLimit) < 0n, "Forbidden", `${at}.emptyDir.sizeLimit`);
  const { path = "" } = fieldsOf(value["hostPath"]);
  found.when(leadsOut(path), "Invalid", `${at}.hostPath.path`, path);
  for (const name of ["secret", "configMap", "downwardAPI", "projected"]) {
    found.within(`${at}.${name}.defaultMode`, fieldsOf(value[name])["defaultMode"], 0, 0o777);
  }
};

const toleration: Rule = ({ key, operator, value, effect, tolerationSeconds }, at, found) => {
  if (key) found.qualified(`${at}.key`, String(key));
  found.when(!key && operator !== "Exists", "Invalid", `${at}.operator`, operator);
  found.when(operator === "Exists" && Boolean(value), "Invalid", `${at}.operator`, operator);
  found.when(tolerationSeconds !== undefined && effect !== "NoExecute", "Invalid", `${at}.effect`, effect);
};

/** Of labels of objects, and of nodes, whose values can also be compared. */
function requirement(operators: readonly string[]): Rule {
  return ({ key, operator, values }, at, found) => {
    if (key) found.qualified(`${at}.key`, String(key));
    const count = listOf(values).length;
    const isOfSet = operator === "In" || operator === "NotIn";
    const isOfNone = operator === "Exists" || operator === "DoesNotExist";
    if (!operators.includes(String(operator))) found.say("Invalid", `${at}.operator`, operator);
    else if (isOfNone) found.when(count > 0, "Forbidden", `${at}.values`);
    else found.when(isOfSet ? count === 0 : count !== 1, "Required", `${at}.values`);
  };
}

const labelOperators = ["In", "NotIn", "Exists", "DoesNotExist"];

export const podRules: Readonly<Record<string, Rule>> = {
  "core.v1.Pod": ({ spec }, _, found) => checkPodSpec(fieldsOf(spec), "spec", found),
  "core.v1.Volume": volume,
  "core.v1.Toleration": toleration,
  "core.v1.NodeSelector": ({ nodeSelectorTerms: terms }, at, found) =>
    found.when(listOf(terms).length === 0, "Required", `${at}.nodeSelectorTerms`),
  "core.v1.NodeSelectorRequirement": requirement([...labelOperators, "Gt", "Lt"]),
  "meta.v1.LabelSelectorRequirement": requirement(labelOperators),
  "meta.v1.LabelSelector": (value, at, found) => found.labels(`${at}.matchLabels`, value["matchLabels"]),
  "core.v1.PodAffinityTerm": ({ topologyKey = "" }, at, found) =>
    found.qualified(`${at}.topologyKey`, String(topologyKey)),
  "core.v1.TopologySpreadConstraint": ({ maxSkew }, at, found) => found.within(`${at}.maxSkew`, maxSkew, 1),
  "core.v1.HostAlias": ({ ip }, at, found) => found.address(`${at}.ip`, ip),
};
