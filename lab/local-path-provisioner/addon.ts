/** PersistentVolumes as folders on the node's disk, in the storage classes that the market knows. */
import { type Addon, account } from "../addon.ts";
import { programImage, shellImage } from "../images.ts";
import { places } from "../places.ts";

const namespace = "local-path-storage";
const name = "local-path-provisioner";
const config = "/etc/config";

/** `beta2` is an SSD and `beta3` an NVMe on the market; here both are the one disk there is. */
const storageClasses = ["local-path", "beta2", "beta3"];

const rules = [
  {
    apiGroups: [""],
    resources: ["nodes", "persistentvolumeclaims", "configmaps", "pods", "pods/log"],
    verbs: ["get", "list", "watch"],
  },
  { apiGroups: [""], resources: ["pods", "persistentvolumes"], verbs: ["*"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: ["get", "list", "watch"] },
];

/** The program makes and removes folders through pods on the node in question. */
const settings = {
  "config.json": JSON.stringify({
    nodePathMap: [{ node: "DEFAULT_PATH_FOR_NON_LISTED_NODES", paths: [places.volumes] }],
  }),
  setup: '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n',
  teardown: '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n',
  "helperPod.yaml": JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "helper-pod" },
    spec: { containers: [{ name: "helper-pod", image: shellImage }] },
  }),
};

const deployment = () => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    // Two at once would provision the same claim twice.
    strategy: { type: "Recreate" },
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        serviceAccountName: name,
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name,
            image: programImage("local-path-provisioner"),
            args: ["start", "--config", `${config}/config.json`, "--service-account-name", name],
            env: [
              { name: "POD_NAMESPACE", value: namespace },
              { name: "CONFIG_MOUNT_PATH", value: config },
            ],
            volumeMounts: [{ name: "config", mountPath: config }],
          },
        ],
        volumes: [{ name: "config", configMap: { name: "local-path-config" } }],
      },
    },
  },
});

export const provisioner: Addon = {
  name,
  deployment: { namespace, name },
  objects: () => [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...account(name, namespace, rules),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "local-path-config", namespace },
      data: settings,
    },
    ...storageClasses.map((storageClass) => ({
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: storageClass },
      provisioner: "rancher.io/local-path",
      volumeBindingMode: "WaitForFirstConsumer",
      reclaimPolicy: "Delete",
    })),
    deployment(),
  ],
};
