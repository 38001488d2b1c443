/** What deployments, stateful sets and their like must be like. */
import { fieldsOf, recordsOf } from "../../../../kube/json-fields.ts";
import { type LabelSelector, selects } from "../objects/label-selector.ts";
import type { Plain } from "../schema/shape.ts";
import type { Found, Rule } from "./found.ts";
import { checkAnnotations } from "./metadata-rules.ts";
import { checkPodSpec } from "./pod-rules.ts";
import { dnsLabel } from "./texts.ts";

const claimNames = (spec: Plain) =>
  recordsOf(spec["volumeClaimTemplates"]).map(({ metadata }) => String(fieldsOf(metadata)["name"]));

/** What a set of pods has, whatever makes it. */
const workload: Rule = (spec, at, found) => {
  for (const name of ["replicas", "minReadySeconds", "revisionHistoryLimit"]) {
    found.within(`${at}.${name}`, spec[name], 0);
  }
  checkSelector(spec, at, found);
  const { metadata, spec: pod } = fieldsOf(spec["template"]);
  found.labels(`${at}.template.labels`, fieldsOf(metadata)["labels"]);
  checkAnnotations(`${at}.template.annotations`, fieldsOf(metadata)["annotations"], found);
  checkPodSpec(fieldsOf(pod), `${at}.template.spec`, found, claimNames(spec));
  const { restartPolicy } = fieldsOf(pod);
  found.when(restartPolicy !== "Always", "NotSupported", `${at}.template.spec.restartPolicy`, restartPolicy);
};

function checkSelector(spec: Plain, at: string, found: Found): void {
  const labels = fieldsOf(fieldsOf(fieldsOf(spec["template"])["metadata"])["labels"]) as Record<string, string>;
  const selector = spec["selector"] as LabelSelector | undefined;
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const isEmpty = Object.keys(matchLabels).length + matchExpressions.length === 0;
  const isRead = matchExpressions.every(({ operator, values = [] }) =>
    operator === "In" || operator === "NotIn" ? values.length > 0 : /^(Exists|DoesNotExist)$/.test(operator),
  );
  // That there is none is said by the schema.
  if (selector && (isEmpty || !isRead)) found.say("Invalid", `${at}.selector`, selector);
  else found.when(!selector || !selects(selector, labels), "Invalid", `${at}.template.metadata.labels`, labels);
}

const deployment: Rule = (spec, at, found) => {
  workload(spec, at, found);
  const { minReadySeconds = 0, progressDeadlineSeconds: deadline } = spec;
  found.when(Number(deadline) <= Number(minReadySeconds), "Invalid", `${at}.progressDeadlineSeconds`, deadline);
};

const strategy: Rule = ({ type, rollingUpdate: update }, at, found) => {
  found.when(type !== "Recreate" && type !== "RollingUpdate", "NotSupported", at, { type });
  found.when(type === "Recreate" && update !== undefined, "Forbidden", `${at}.rollingUpdate`);
};

const rollingUpdate: Rule = ({ maxSurge, maxUnavailable }, at, found) => {
  for (const [name, value] of Object.entries({ maxSurge, maxUnavailable })) {
    found.within(`${at}.${name}`, value, 0);
    found.text(`${at}.${name}`, value, /^\d+%$/);
  }
  const none = (value: unknown) => value === 0 || value === "0%";
  found.when(none(maxSurge) && none(maxUnavailable), "Invalid", `${at}.maxUnavailable`, maxUnavailable);
};

const statefulSet: Rule = (spec, at, found) => {
  workload(spec, at, found);
  found.text(`${at}.serviceName`, spec["serviceName"], dnsLabel);
  const { podManagementPolicy: policy, updateStrategy } = spec;
  found.text(`${at}.podManagementPolicy`, policy, /^(OrderedReady|Parallel)$/);
  const { type } = fieldsOf(updateStrategy);
  found.text(`${at}.updateStrategy`, type, /^(RollingUpdate|OnDelete)$/);
  claimNames(spec).forEach((name, index) => {
    found.text(`${at}.template.spec.volumes[${index}].name`, name, dnsLabel);
  });
};

export const workloadRules: Readonly<Record<string, Rule>> = {
  "apps.v1.DeploymentSpec": deployment,
  "apps.v1.DeploymentStrategy": strategy,
  "apps.v1.RollingUpdateDeployment": rollingUpdate,
  "apps.v1.StatefulSetSpec": statefulSet,
};
