/** A pod and everything in it, as Kubernetes v1.34 has it. Read with notation.ts. */
export const podTypes = `
Pod apiVersion?:s kind?:s metadata=:ObjectMeta spec=:PodSpec status=:PodStatus
ObjectMeta annotations?:{}s creationTimestamp?:t deletionGracePeriodSeconds:i deletionTimestamp:t finalizers?:[*]s
  generateName?:s generation?:i labels?:{}s name?:s namespace?:s ownerReferences?:[uid]OwnerReference
  resourceVersion?:s selfLink?:s uid?:s
!OwnerReference apiVersion=:s blockOwnerDeletion:b controller:b kind=:s name=:s uid=:s
PodSpec activeDeadlineSeconds:i affinity:Affinity automountServiceAccountToken:b containers=:[name]Container
  dnsConfig:PodDNSConfig dnsPolicy?:s enableServiceLinks:b ephemeralContainers?:[name]EphemeralContainer
  hostAliases?:[ip]HostAlias hostIPC?:b hostNetwork?:b hostPID?:b hostUsers:b hostname?:s hostnameOverride:s
  imagePullSecrets?:[name]LocalObjectReference initContainers?:[name]Container nodeName?:s nodeSelector?:!{}s os:PodOS
  overhead?:{}q preemptionPolicy:s priority:i priorityClassName?:s readinessGates?:[]PodReadinessGate
  resourceClaims?:[name]PodResourceClaim resources:ResourceRequirements restartPolicy?:s runtimeClassName:s
  schedulerName?:s schedulingGates?:[name]PodSchedulingGate securityContext:PodSecurityContext serviceAccount?:s
  serviceAccountName?:s setHostnameAsFQDN:b shareProcessNamespace:b subdomain?:s terminationGracePeriodSeconds:i
  tolerations?:[]Toleration topologySpreadConstraints?:[topologyKey,whenUnsatisfiable]TopologySpreadConstraint
  volumes?:[name]Volume
Affinity nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAntiAffinity
NodeAffinity preferredDuringSchedulingIgnoredDuringExecution?:[]PreferredSchedulingTerm
  requiredDuringSchedulingIgnoredDuringExecution:NodeSelector
PreferredSchedulingTerm preference=:NodeSelectorTerm weight=:i
!NodeSelectorTerm matchExpressions?:[]NodeSelectorRequirement matchFields?:[]NodeSelectorRequirement
NodeSelectorRequirement key=:s operator=:s values?:[]s
!NodeSelector nodeSelectorTerms=:[]NodeSelectorTerm
PodAffinity preferredDuringSchedulingIgnoredDuringExecution?:[]WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution?:[]PodAffinityTerm
WeightedPodAffinityTerm podAffinityTerm=:PodAffinityTerm weight=:i
PodAffinityTerm labelSelector:LabelSelector matchLabelKeys?:[]s mismatchLabelKeys?:[]s namespaceSelector:LabelSelector
  namespaces?:[]s topologyKey=:s
!LabelSelector matchExpressions?:[]LabelSelectorRequirement matchLabels?:{}s
LabelSelectorRequirement key=:s operator=:s values?:[]s
PodAntiAffinity preferredDuringSchedulingIgnoredDuringExecution?:[]WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution?:[]PodAffinityTerm
Container args?:[]s command?:[]s env?:[name]EnvVar envFrom?:[]EnvFromSource image?:s imagePullPolicy?:s
  lifecycle:Lifecycle livenessProbe:Probe name=:s ports?:[containerPort,protocol=TCP]ContainerPort
  readinessProbe:Probe resizePolicy?:[]ContainerResizePolicy resources=:ResourceRequirements restartPolicy:s
  restartPolicyRules?:[]ContainerRestartRule securityContext:SecurityContext startupProbe:Probe stdin?:b stdinOnce?:b
  terminationMessagePath?:s terminationMessagePolicy?:s tty?:b volumeDevices?:[devicePath]VolumeDevice
  volumeMounts?:[mountPath]VolumeMount workingDir?:s
EnvVar name=:s value?:s valueFrom:EnvVarSource
EnvVarSource configMapKeyRef:ConfigMapKeySelector fieldRef:ObjectFieldSelector fileKeyRef:FileKeySelector
  resourceFieldRef:ResourceFieldSelector secretKeyRef:SecretKeySelector
!ConfigMapKeySelector key=:s name?:s optional:b
!ObjectFieldSelector apiVersion?:s fieldPath=:s
!FileKeySelector key=:s optional:b path=:s volumeName=:s
!ResourceFieldSelector containerName?:s divisor=:q resource=:s
!SecretKeySelector key=:s name?:s optional:b
EnvFromSource configMapRef:ConfigMapEnvSource prefix?:s secretRef:SecretEnvSource
ConfigMapEnvSource name?:s optional:b
SecretEnvSource name?:s optional:b
Lifecycle postStart:LifecycleHandler preStop:LifecycleHandler stopSignal:s
LifecycleHandler exec:ExecAction httpGet:HTTPGetAction sleep:SleepAction tcpSocket:TCPSocketAction
ExecAction command?:[]s
HTTPGetAction host?:s httpHeaders?:[]HTTPHeader path?:s port=:x scheme?:s
HTTPHeader name=:s value=:s
SleepAction seconds=:i
TCPSocketAction host?:s port=:x
Probe exec:ExecAction failureThreshold?:i grpc:GRPCAction httpGet:HTTPGetAction initialDelaySeconds?:i
  periodSeconds?:i successThreshold?:i tcpSocket:TCPSocketAction terminationGracePeriodSeconds:i timeoutSeconds?:i
GRPCAction port=:i service:s
ContainerPort containerPort=:i hostIP?:s hostPort?:i name?:s protocol?:s
ContainerResizePolicy resourceName=:s restartPolicy=:s
ResourceRequirements claims?:[name]ResourceClaim limits?:{}q requests?:{}q
ResourceClaim name=:s request?:s
ContainerRestartRule action?:s exitCodes:ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes operator?:s values?:[*]i
SecurityContext allowPrivilegeEscalation:b appArmorProfile:AppArmorProfile capabilities:Capabilities privileged:b
  procMount:s readOnlyRootFilesystem:b runAsGroup:i runAsNonRoot:b runAsUser:i seLinuxOptions:SELinuxOptions
  seccompProfile:SeccompProfile windowsOptions:WindowsSecurityContextOptions
AppArmorProfile localhostProfile:s type=:s
Capabilities add?:[]s drop?:[]s
SELinuxOptions level?:s role?:s type?:s user?:s
SeccompProfile localhostProfile:s type=:s
WindowsSecurityContextOptions gmsaCredentialSpec:s gmsaCredentialSpecName:s hostProcess:b runAsUserName:s
VolumeDevice devicePath=:s name=:s
VolumeMount mountPath=:s mountPropagation:s name=:s readOnly?:b recursiveReadOnly:s subPath?:s subPathExpr?:s
PodDNSConfig nameservers?:[]s options?:[]PodDNSConfigOption searches?:[]s
PodDNSConfigOption name?:s value:s
EphemeralContainer args?:[]s command?:[]s env?:[name]EnvVar envFrom?:[]EnvFromSource image?:s imagePullPolicy?:s
  lifecycle:Lifecycle livenessProbe:Probe name=:s ports?:[containerPort,protocol=TCP]ContainerPort
  readinessProbe:Probe resizePolicy?:[]ContainerResizePolicy resources=:ResourceRequirements restartPolicy:s
  restartPolicyRules?:[]ContainerRestartRule securityContext:SecurityContext startupProbe:Probe stdin?:b stdinOnce?:b
  targetContainerName?:s terminationMessagePath?:s terminationMessagePolicy?:s tty?:b
  volumeDevices?:[devicePath]VolumeDevice volumeMounts?:[mountPath]VolumeMount workingDir?:s
HostAlias hostnames?:[]s ip=:s
!LocalObjectReference name?:s
PodOS name=:s
PodReadinessGate conditionType=:s
PodResourceClaim name=:s resourceClaimName:s resourceClaimTemplateName:s
PodSchedulingGate name=:s
PodSecurityContext appArmorProfile:AppArmorProfile fsGroup:i fsGroupChangePolicy:s runAsGroup:i runAsNonRoot:b
  runAsUser:i seLinuxChangePolicy:s seLinuxOptions:SELinuxOptions seccompProfile:SeccompProfile
  supplementalGroups?:[]i supplementalGroupsPolicy:s sysctls?:[]Sysctl windowsOptions:WindowsSecurityContextOptions
Sysctl name=:s value=:s
Toleration effect?:s key?:s operator?:s tolerationSeconds:i value?:s
TopologySpreadConstraint labelSelector:LabelSelector matchLabelKeys?:[]s maxSkew=:i minDomains:i nodeAffinityPolicy:s
  nodeTaintsPolicy:s topologyKey=:s whenUnsatisfiable=:s
Volume awsElasticBlockStore:any azureDisk:any azureFile:any cephfs:any cinder:any configMap:ConfigMapVolumeSource
  csi:CSIVolumeSource downwardAPI:DownwardAPIVolumeSource emptyDir:EmptyDirVolumeSource
  ephemeral:EphemeralVolumeSource fc:any flexVolume:any flocker:any gcePersistentDisk:any gitRepo:any glusterfs:any
  hostPath:HostPathVolumeSource image:ImageVolumeSource iscsi:any name=:s nfs:NFSVolumeSource
  persistentVolumeClaim:PersistentVolumeClaimVolumeSource photonPersistentDisk:any portworxVolume:any
  projected:ProjectedVolumeSource quobyte:any rbd:any scaleIO:any secret:SecretVolumeSource storageos:any
  vsphereVolume:any
ConfigMapVolumeSource defaultMode:i items?:[]KeyToPath name?:s optional:b
KeyToPath key=:s mode:i path=:s
CSIVolumeSource driver=:s fsType:s nodePublishSecretRef:LocalObjectReference readOnly:b volumeAttributes?:{}s
DownwardAPIVolumeSource defaultMode:i items?:[]DownwardAPIVolumeFile
DownwardAPIVolumeFile fieldRef:ObjectFieldSelector mode:i path=:s resourceFieldRef:ResourceFieldSelector
EmptyDirVolumeSource medium?:s sizeLimit:q
EphemeralVolumeSource volumeClaimTemplate:PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate metadata=:ObjectMeta spec=:PersistentVolumeClaimSpec
PersistentVolumeClaimSpec accessModes?:[]s dataSource:TypedLocalObjectReference dataSourceRef:TypedObjectReference
  resources=:VolumeResourceRequirements selector:LabelSelector storageClassName:s volumeAttributesClassName:s
  volumeMode:s volumeName?:s
!TypedLocalObjectReference apiGroup:s kind=:s name=:s
TypedObjectReference apiGroup:s kind=:s name=:s namespace:s
VolumeResourceRequirements limits?:{}q requests?:{}q
HostPathVolumeSource path=:s type:s
ImageVolumeSource pullPolicy?:s reference?:s
NFSVolumeSource path=:s readOnly?:b server=:s
PersistentVolumeClaimVolumeSource claimName=:s readOnly?:b
ProjectedVolumeSource defaultMode:i sources=:[]VolumeProjection
VolumeProjection clusterTrustBundle:ClusterTrustBundleProjection configMap:ConfigMapProjection
  downwardAPI:DownwardAPIProjection podCertificate:PodCertificateProjection secret:SecretProjection
  serviceAccountToken:ServiceAccountTokenProjection
ClusterTrustBundleProjection labelSelector:LabelSelector name:s optional:b path=:s signerName:s
ConfigMapProjection items?:[]KeyToPath name?:s optional:b
DownwardAPIProjection items?:[]DownwardAPIVolumeFile
PodCertificateProjection certificateChainPath?:s credentialBundlePath?:s keyPath?:s keyType?:s maxExpirationSeconds:i
  signerName?:s
SecretProjection items?:[]KeyToPath name?:s optional:b
ServiceAccountTokenProjection audience?:s expirationSeconds:i path=:s
SecretVolumeSource defaultMode:i items?:[]KeyToPath optional:b secretName?:s
PodStatus conditions?:[type]PodCondition containerStatuses?:[]ContainerStatus
  ephemeralContainerStatuses?:[]ContainerStatus extendedResourceClaimStatus:PodExtendedResourceClaimStatus hostIP?:s
  hostIPs?:[]HostIP initContainerStatuses?:[]ContainerStatus message?:s nominatedNodeName?:s observedGeneration?:i
  phase?:s podIP?:s podIPs?:[ip]PodIP qosClass?:s reason?:s resize?:s
  resourceClaimStatuses?:[name]PodResourceClaimStatus startTime:t
PodCondition lastProbeTime=:t lastTransitionTime=:t message?:s observedGeneration?:i reason?:s status=:s type=:s
ContainerStatus allocatedResources?:{}q allocatedResourcesStatus?:[name]ResourceStatus containerID?:s image=:s
  imageID=:s lastState=:ContainerState name=:s ready=:b resources:ResourceRequirements restartCount=:i started:b
  state=:ContainerState stopSignal:s user:ContainerUser volumeMounts?:[mountPath]VolumeMountStatus
ResourceStatus name=:s resources?:[resourceID]ResourceHealth
ResourceHealth health?:s resourceID=:s
ContainerState running:ContainerStateRunning terminated:ContainerStateTerminated waiting:ContainerStateWaiting
ContainerStateRunning startedAt=:t
ContainerStateTerminated containerID?:s exitCode=:i finishedAt=:t message?:s reason?:s signal?:i startedAt=:t
ContainerStateWaiting message?:s reason?:s
ContainerUser linux:LinuxContainerUser
LinuxContainerUser gid=:i supplementalGroups?:[]i uid=:i
VolumeMountStatus mountPath=:s name=:s readOnly?:b recursiveReadOnly:s
PodExtendedResourceClaimStatus requestMappings=:[]ContainerExtendedResourceRequest resourceClaimName=:s
ContainerExtendedResourceRequest containerName=:s requestName=:s resourceName=:s
HostIP ip=:s
PodIP ip=:s
PodResourceClaimStatus name=:s resourceClaimName:s
`;
