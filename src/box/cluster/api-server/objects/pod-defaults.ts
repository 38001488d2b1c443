/** What the API server puts into a pod, or into the template of one, that does not say. */
import { elements, fill, type Mutable, part, partIfThere } from "./mutable.ts";

/** rw-r--r-- */
const readableMode = 0o644;

export function fillPodSpec(spec: Mutable): void {
  fill(spec, {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
  });
  // The deprecated name of the same field. An update that clears only the new name gets the old value back.
  const account = spec["serviceAccountName"] || spec["serviceAccount"];
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account });
  for (const volume of elements(spec, "volumes")) fillVolume(volume);
  for (const list of ["initContainers", "containers", "ephemeralContainers"]) {
    for (const container of elements(spec, list)) fillContainer(container);
  }
}

/** Only for a pod itself, not for a template. */
export function fillPod(pod: Mutable): void {
  const spec = part(pod, "spec");
  fill(spec, { enableServiceLinks: true });
  for (const container of [...elements(spec, "initContainers"), ...elements(spec, "containers")]) {
    const limits = partIfThere(partIfThere(container, "resources"), "limits");
    if (limits) fill(part(part(container, "resources"), "requests"), limits);
    if (spec["hostNetwork"] !== true) continue;
    for (const port of elements(container, "ports")) fill(port, { hostPort: port["containerPort"] });
  }
}

function fillContainer(container: Mutable): void {
  const image = String(container["image"] ?? "");
  fill(container, {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: isLatest(image) ? "Always" : "IfNotPresent",
  });
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) fillProbe(partIfThere(container, name));
  const lifecycle = partIfThere(container, "lifecycle");
  for (const name of ["postStart", "preStop"]) fillHttpGet(partIfThere(lifecycle, name));
  for (const variable of elements(container, "env")) fillFieldRef(partIfThere(variable, "valueFrom"));
}

/** No tag means the newest image, which is always pulled. */
function isLatest(image: string): boolean {
  if (image.includes("@")) return false;
  const tag = /:([^:/]+)$/.exec(image)?.[1] ?? "latest";
  return tag === "latest";
}

function fillProbe(probe: Mutable | undefined): void {
  fill(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  fill(partIfThere(probe, "grpc"), { service: "" });
  fillHttpGet(probe);
}

function fillHttpGet(action: Mutable | undefined): void {
  fill(partIfThere(action, "httpGet"), { path: "/", scheme: "HTTP" });
}

function fillFieldRef(source: Mutable | undefined): void {
  fill(partIfThere(source, "fieldRef"), { apiVersion: "v1" });
}

function fillVolume(volume: Mutable): void {
  if (Object.keys(volume).every((name) => name === "name")) volume["emptyDir"] = {};
  for (const name of ["secret", "configMap", "downwardAPI", "projected"]) {
    fill(partIfThere(volume, name), { defaultMode: readableMode });
  }
  fill(partIfThere(volume, "hostPath"), { type: "" });
  for (const item of elements(partIfThere(volume, "downwardAPI"), "items")) fillFieldRef(item);
  for (const source of elements(partIfThere(volume, "projected"), "sources")) {
    for (const item of elements(partIfThere(source, "downwardAPI"), "items")) fillFieldRef(item);
    fill(partIfThere(source, "serviceAccountToken"), { expirationSeconds: 3_600 });
  }
  const claim = partIfThere(partIfThere(volume, "ephemeral"), "volumeClaimTemplate");
  if (claim) fill(part(claim, "spec"), { volumeMode: "Filesystem" });
}
