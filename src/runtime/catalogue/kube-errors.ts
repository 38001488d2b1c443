import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const kubeErrors = {
  AKP_KUBECONFIG_MISSING: {
    message: "there is no kubeconfig: {path}: {reason}",
    advice:
      "Name the file with --kubeconfig or KUBECONFIG. In a pod, leave both out: the service account of the pod is used.",
    ...statuses(503, "FAILED_PRECONDITION", settings),
  },
  AKP_KUBECONFIG_UNUSABLE: {
    message: "the kubeconfig {path} cannot be used: {reason}",
    advice: "Correct the file; `kubectl --kubeconfig <file> version` must work with it.",
    ...statuses(503, "FAILED_PRECONDITION", settings),
  },
  AKP_KUBE_PLUGIN_FAILED: {
    message: "the credential plugin {command} of {path} failed: {reason}",
    advice: "Run the command by hand as this user and log in again where it asks for that. It is tried again.",
    ...statuses(503, "UNAUTHENTICATED"),
  },
  AKP_KUBE_UNAUTHORIZED: {
    message: "the Kubernetes API at {server} does not accept the credentials of {path} (to {verb} {resource})",
    advice:
      "They may have expired. Renew them in that file, which is read again by itself: a token, a client certificate or the service account.",
    ...statuses(503, "UNAUTHENTICATED"),
  },
  AKP_KUBE_UNREACHABLE: {
    message: "the Kubernetes API at {server} cannot be reached to {verb} {resource}: {reason}",
    advice: "It is tried again. Check that the API server runs and that the address in {path} is right.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_KUBE_UNTRUSTED: {
    message: "the certificate of the Kubernetes API at {server} was not accepted: {reason}",
    advice: "Put the authority that signed it into {path} (certificate-authority).",
    ...statuses(503, "UNAUTHENTICATED", settings),
  },
  AKP_KUBE_FORBIDDEN: {
    message: "Kubernetes forbids us to {verb} {resource}: {reason}",
    advice: "Grant the verb on the resource to our service account or user. It is tried again, no restart is needed.",
    ...statuses(503, "PERMISSION_DENIED"),
  },
  AKP_KUBE_KIND_MISSING: {
    message: "the cluster does not know {resource} (asked to {verb} them)",
    advice:
      "Install its custom resource definition; those of akash.network with `akash-provider install crds`. It is waited for, and found by itself once it is there.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
  AKP_KUBE_NOT_FOUND: {
    message: "cannot {verb} {resource}: {reason}",
    advice: "It may have been deleted meanwhile; look at the cluster again.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_KUBE_CONFLICT: {
    message: "cannot {verb} {resource}: {reason}",
    advice: "Somebody else changed it meanwhile. Read it again and decide anew.",
    ...statuses(409, "ABORTED"),
  },
  AKP_KUBE_EXISTS: {
    message: "cannot {verb} {resource}: {reason}",
    advice: "Something of that name is there already, perhaps on its way out. Look whose it is before it is used.",
    ...statuses(409, "ALREADY_EXISTS"),
  },
  AKP_KUBE_OWNED: {
    message: "cannot {verb} {resource}: {reason}",
    advice: "Another program owns the fields that the message names. Stop it from writing them, or remove the object.",
    ...statuses(409, "ABORTED"),
  },
  AKP_KUBE_OTHER_UID: {
    message: "cannot {verb} {resource}: {reason}",
    advice: "The object that was meant is gone, and perhaps another has its name. Look at the cluster again.",
    ...statuses(409, "ABORTED"),
  },
  AKP_KUBE_TERMINATING: {
    message: "cannot {verb} {resource}: {reason}",
    advice:
      "Its namespace is being deleted. If that lasts, `kubectl get namespace <name> -o yaml` says what it waits for.",
    ...statuses(409, "FAILED_PRECONDITION"),
  },
  AKP_KUBE_QUOTA: {
    message: "cannot {verb} {resource}: {reason}",
    advice: "Raise or remove the ResourceQuota that the message names, or free what uses it up.",
    ...statuses(503, "RESOURCE_EXHAUSTED"),
  },
  AKP_KUBE_GONE: {
    message: "Kubernetes no longer has the version we wanted to {verb} {resource} from: {reason}",
    advice: "The list is read anew, and nothing is lost.",
    ...statuses(503, "ABORTED"),
  },
  AKP_KUBE_STALE: {
    message: "what is known of {resource} was not confirmed by Kubernetes for more than {seconds} s",
    advice:
      "It is worked on. If this lasts, the log says what the watch waits for: an API server that takes too long for its lists, or a handler of ours.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_KUBE_BUSY: {
    message: "Kubernetes has too many requests to {verb} {resource}",
    advice: "It is tried again when the API server says. If this lasts, raise our priority level in its flow control.",
    ...statuses(503, "RESOURCE_EXHAUSTED"),
  },
  AKP_KUBE_REFUSED: {
    message: "Kubernetes refused to {verb} {resource} ({status}): {reason}",
    advice: "The reason names the field or the admission rule. Asking again will not help until that has changed.",
    ...statuses(502, "INVALID_ARGUMENT"),
  },
  AKP_KUBE_FAILED: {
    message: "Kubernetes failed to {verb} {resource} ({status}): {reason}",
    advice: "It is tried again. Look at the log of the API server if this lasts.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_CLUSTER_UNKNOWN: {
    message: "what our leases have in the cluster is not known right now: {reason}",
    advice: "It is worked on, and nothing is changed meanwhile. If this lasts, the reason says what is missing.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_PROVIDER_NOT_EXCLUSIVE: {
    message: "this provider does not hold the Lease {lease}: {reason}",
    advice:
      "Nothing is sent without it. If another provider holds it, run only one with this key; else look at the API server.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_KUBE_ANSWER_TOO_LARGE: {
    message: "the Kubernetes API at {server} answered more than {bytes} bytes (to {verb} {resource})",
    advice: "Lists are read in smaller pages by themselves. Else look for an object that is larger than any should be.",
    ...statuses(502, "UNAVAILABLE"),
  },
  AKP_KUBE_ANSWER_MALFORMED: {
    message: "the Kubernetes API at {server} answered something else (to {verb} {resource}): {reason}",
    advice: "A proxy in between may be answering instead. Check the server address in {path}.",
    ...statuses(502, "UNAVAILABLE"),
  },
} as const satisfies Errors;
