// The objects a lab begins with, read from YAML.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { addressAt } from '../apiserver/allocations.ts';
import type { KubeObject } from '../apiserver/object.ts';
import { packageFile } from '../package-files.ts';

/** Where pods look for DNS: the tenth address of the Services' network, as kubeadm has it. */
const DNS_PLACE = 10n;

export function firstApplications(serviceCIDRs: readonly string[]): KubeObject[] {
  const clusterIP = addressAt(serviceCIDRs[0]!, DNS_PLACE);
  const dns = readObjects('kube-dns').map((object) =>
    object.kind === 'Service' ? { ...object, spec: { ...(object.spec as object), clusterIP } } : object,
  );
  return [...dns, ...readObjects('yaobank')];
}

function readObjects(name: string): KubeObject[] {
  const text = readFileSync(packageFile('src/lab/manifests', `${name}.yaml`), 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
}
