/** Permissions of a user in the lab, by SubjectAccessReview. */
import { callApi } from "../../lab/api.ts";

export interface PermissionQuery {
  readonly verb: string;
  /** Of the core group, perhaps with a subresource: "pods/exec". */
  readonly resource: string;
  /** Without one, everywhere. */
  readonly namespace?: string | undefined;
}

export async function mayDo(user: string, { verb, resource, namespace }: PermissionQuery): Promise<boolean> {
  const [plural, subresource] = resource.split("/");
  const answer = await callApi("/apis/authorization.k8s.io/v1/subjectaccessreviews", "POST", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, resourceAttributes: { verb, resource: plural, subresource, namespace } },
  });
  if (answer.status !== 201) throw new Error(`a review was rejected: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body).status.allowed;
}
