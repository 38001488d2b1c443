import { type Errors, entry, settingsEntry } from "./entry.ts";

export const kubeErrors = {
  AKP_KUBECONFIG_MISSING: settingsEntry(503, "FAILED_PRECONDITION", {
    message: "there is no kubeconfig: {path}: {reason}",
    advice:
      "Name the file with --kubeconfig or KUBECONFIG. In a pod, leave both out: the service account of the pod is used.",
  }),
  AKP_KUBECONFIG_UNUSABLE: settingsEntry(503, "FAILED_PRECONDITION", {
    message: "the kubeconfig {path} cannot be used: {reason}",
    advice: "Correct the file; `kubectl --kubeconfig <file> version` must work with it.",
  }),
  AKP_KUBE_PLUGIN_FAILED: entry(503, "UNAUTHENTICATED", {
    message: "the credential plugin {command} of {path} failed: {reason}",
    advice: "Run the command by hand as this user and log in again where it asks for that. It is tried again.",
  }),
  AKP_KUBE_UNAUTHORIZED: entry(503, "UNAUTHENTICATED", {
    message: "the Kubernetes API at {server} does not accept the credentials of {path} (to {verb} {resource})",
    advice:
      "They may have expired. Renew them in that file, which is read again by itself: a token, a client certificate or the service account.",
  }),
  AKP_KUBE_UNREACHABLE: entry(503, "UNAVAILABLE", {
    message: "the Kubernetes API at {server} cannot be reached to {verb} {resource}: {reason}",
    advice: "It is tried again. Check that the API server runs and that the address in {path} is right.",
  }),
  AKP_KUBE_UNTRUSTED: settingsEntry(503, "UNAUTHENTICATED", {
    message: "the certificate of the Kubernetes API at {server} was not accepted: {reason}",
    advice: "Put the authority that signed it into {path} (certificate-authority).",
  }),
  AKP_KUBE_FORBIDDEN: entry(503, "PERMISSION_DENIED", {
    message: "Kubernetes forbids us to {verb} {resource}: {reason}",
    advice: "Grant the verb on the resource to our service account or user. It is tried again, no restart is needed.",
  }),
  AKP_KUBE_KIND_MISSING: entry(503, "FAILED_PRECONDITION", {
    message: "the cluster does not know {resource} (asked to {verb} them)",
    advice:
      "Install its custom resource definition; those of akash.network with `akash-provider install crds`. It is waited for, and found by itself once it is there.",
  }),
  AKP_KUBE_NOT_FOUND: entry(404, "NOT_FOUND", {
    message: "cannot {verb} {resource}: {reason}",
    advice: "It may have been deleted meanwhile; look at the cluster again.",
  }),
  AKP_KUBE_CONFLICT: entry(409, "ABORTED", {
    message: "cannot {verb} {resource}: {reason}",
    advice: "Somebody else changed it meanwhile. Read it again and decide anew.",
  }),
  AKP_KUBE_EXISTS: entry(409, "ALREADY_EXISTS", {
    message: "cannot {verb} {resource}: {reason}",
    advice: "Something of that name is there already, perhaps on its way out. Look whose it is before it is used.",
  }),
  AKP_KUBE_OWNED: entry(409, "ABORTED", {
    message: "cannot {verb} {resource}: {reason}",
    advice: "Another program owns the fields that the message names. Stop it from writing them, or remove the object.",
  }),
  AKP_KUBE_OTHER_UID: entry(409, "ABORTED", {
    message: "cannot {verb} {resource}: {reason}",
    advice: "The object that was meant is gone, and perhaps another has its name. Look at the cluster again.",
  }),
  AKP_KUBE_TERMINATING: entry(409, "FAILED_PRECONDITION", {
    message: "cannot {verb} {resource}: {reason}",
    advice:
      "Its namespace is being deleted. If that lasts, `kubectl get namespace <name> -o yaml` says what it waits for.",
  }),
  AKP_KUBE_QUOTA: entry(503, "RESOURCE_EXHAUSTED", {
    message: "cannot {verb} {resource}: {reason}",
    advice: "Raise or remove the ResourceQuota that the message names, or free what uses it up.",
  }),
  AKP_KUBE_GONE: entry(503, "ABORTED", {
    message: "Kubernetes no longer has the version we wanted to {verb} {resource} from: {reason}",
    advice: "The list is read anew, and nothing is lost.",
  }),
  AKP_KUBE_STALE: entry(503, "UNAVAILABLE", {
    message: "what is known of {resource} was not confirmed by Kubernetes for more than {seconds} s",
    advice:
      "It is worked on. If this lasts, the log says what the watch waits for: an API server that takes too long for its lists, or a handler of ours.",
  }),
  AKP_KUBE_BUSY: entry(503, "RESOURCE_EXHAUSTED", {
    message: "Kubernetes has too many requests to {verb} {resource}",
    advice: "It is tried again when the API server says. If this lasts, raise our priority level in its flow control.",
  }),
  AKP_KUBE_REFUSED: entry(502, "INVALID_ARGUMENT", {
    message: "Kubernetes refused to {verb} {resource} ({status}): {reason}",
    advice: "The reason names the field or the admission rule. Asking again will not help until that has changed.",
  }),
  AKP_KUBE_FAILED: entry(503, "UNAVAILABLE", {
    message: "Kubernetes failed to {verb} {resource} ({status}): {reason}",
    advice: "It is tried again. Look at the log of the API server if this lasts.",
  }),
  AKP_CLUSTER_UNKNOWN: entry(503, "UNAVAILABLE", {
    message: "what our leases have in the cluster is not known right now: {reason}",
    advice: "It is worked on, and nothing is changed meanwhile. If this lasts, the reason says what is missing.",
  }),
  AKP_PROVIDER_NOT_EXCLUSIVE: entry(503, "UNAVAILABLE", {
    message: "this provider does not hold the Lease {lease}: {reason}",
    advice:
      "Nothing is sent without it. If another provider holds it, run only one with this key; else look at the API server.",
  }),
  AKP_KUBE_ANSWER_TOO_LARGE: entry(502, "UNAVAILABLE", {
    message: "the Kubernetes API at {server} answered more than {bytes} bytes (to {verb} {resource})",
    advice: "Lists are read in smaller pages by themselves. Else look for an object that is larger than any should be.",
  }),
  AKP_KUBE_ANSWER_MALFORMED: entry(502, "UNAVAILABLE", {
    message: "the Kubernetes API at {server} answered something else (to {verb} {resource}): {reason}",
    advice: "A proxy in between may be answering instead. Check the server address in {path}.",
  }),
} satisfies Errors;

export const inventoryErrors = {
  AKP_GPU_REGISTRY_UNREADABLE: entry(503, "UNAVAILABLE", {
    message: "the GPU registry at {location} cannot be read: {reason}",
    advice: "The last good one stays in use and it is tried again. Correct the address or the file if this lasts.",
  }),
  AKP_GPU_REGISTRY_MALFORMED: entry(502, "INVALID_ARGUMENT", {
    message: "{from} is no GPU registry: {reason}",
    advice:
      "The last good one stays in use. Its form is that of devices/pcie/gpus.json in the network's provider-configs.",
  }),
  AKP_DISCOVERY_LATE: entry(503, "UNAVAILABLE", {
    message: "the hardware of the node could not be read within {limitMs} ms",
    advice:
      "A device or its driver hangs. Look at the kernel's log on that node; it is read again at the next request.",
  }),
  AKP_DISCOVERY_MALFORMED: entry(502, "UNAVAILABLE", {
    message: "the discovery pod of node {node} answers what makes no sense: {reason}",
    advice: "The last good answer stays in use and it is asked again. Look at the log of that pod if this lasts.",
  }),
  AKP_INVENTORY_CONFIG_REFUSED: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "the inventory configuration {source} is refused: {reason}",
    advice: "Correct what it names. A file is read again by itself, and the last good configuration stays in force.",
  }),
  AKP_CEPH_UNREADABLE: entry(503, "UNAVAILABLE", {
    message: "Ceph in {namespace} does not tell how full it is: {reason}",
    advice:
      "Check that the toolbox runs (a pod with the label app=rook-ceph-tools) and that `ceph df` works in it. It is asked again.",
  }),
  AKP_INVENTORY_NOT_READY: entry(503, "UNAVAILABLE", {
    message: "there is no whole picture of the cluster yet; it waits for {what}",
    advice: "Ask again in a moment. If this lasts, see what the operator's log says about that.",
  }),
  AKP_INVENTORY_NODE_UNKNOWN: entry(404, "NOT_FOUND", {
    message: "no node {node} is offered: {reason}",
    advice: "Name one that is, with the metadata `node`; QueryCluster has them all.",
  }),
  AKP_OPERATOR_NOT_FOUND: entry(503, "UNAVAILABLE", {
    message: "the {operator} was not found: {reason}",
    advice: "Install it, or say with {setting} where it answers. It is looked for again by itself.",
  }),
  AKP_HTTP_PATH_UNKNOWN: entry(404, "NOT_FOUND", {
    message: "there is nothing at {path}",
    advice: "Here are {paths}.",
  }),
  AKP_HTTP_METHOD_REFUSED: entry(405, "INVALID_ARGUMENT", {
    message: "{method} is not answered at {path}",
    advice: "Use GET.",
  }),
  AKP_HTTP_ANSWER_LATE: entry(503, "UNAVAILABLE", {
    message: "{path} could not be answered within {limitMs} ms",
    advice: "Ask again. If this lasts, the process is short of cpu; --api-timeout gives it more time.",
  }),
} satisfies Errors;

export const addressErrors = {
  AKP_ADDRESSES_UNAVAILABLE: entry(503, "FAILED_PRECONDITION", {
    message: "{reason}",
    advice: "{hint} It is noticed by itself.",
  }),
  AKP_ADDRESS_POOL_EXHAUSTED: entry(503, "RESOURCE_EXHAUSTED", {
    // In the words of the network's documents.
    message: "no IP addresses available in pool",
    advice: "Give MetalLB's pool, or --ip-range, more addresses. Who waits gets one by itself as soon as one is free.",
  }),
} satisfies Errors;

export const leaseErrors = {
  AKP_LEASE_NOT_OURS: entry(404, "NOT_FOUND", {
    message: "{lease} is a lease with {provider}, and we are {ours}",
    advice: "`akash-provider leases` lists ours.",
  }),
  AKP_LEASE_UNKNOWN: entry(404, "NOT_FOUND", {
    message: "the chain has no lease {lease} at height {height}",
    advice: "`akash-provider leases` lists ours.",
  }),
  AKP_LEASE_NOT_IN_CLUSTER: entry(404, "NOT_FOUND", {
    message: "nothing of the lease {lease} is in the cluster",
    advice: "Send the manifest, or ask about a lease that is not closed.",
  }),
  AKP_LEASE_OVER: entry(409, "FAILED_PRECONDITION", {
    message: "the lease {lease} is {state} since height {closedOn}",
    advice: "Nothing is to be done: what it has in the cluster is taken away by itself.",
  }),
  AKP_LEASE_RECLAIMED_LATER: entry(409, "FAILED_PRECONDITION", {
    message:
      "the lease {lease} is being reclaimed and can be closed from {from} on: until then its tenant was promised it",
    advice: "Nothing is to be done: it is closed by itself then.",
  }),
  AKP_LEASE_NOT_RECLAIMABLE: entry(409, "FAILED_PRECONDITION", {
    message: "the lease {lease} has no reclamation window: its tenant was promised no notice",
    advice: "`akash-provider lease close` ends it at once.",
  }),
  AKP_REFRESH_NOT_READY: entry(503, "UNAVAILABLE", {
    message: "lease {lease} is not ready {minutes} minutes after its pods were replaced",
    advice:
      "No other lease was begun. `akash-provider leases` names the reason. Correct the setting that is behind it, restart the provider and refresh this lease again.",
  }),
} satisfies Errors;
