// What must hold of every object's metadata.
import { isObject, type KubeObject } from '../object.ts';
import type { FieldError } from '../status.ts';
import { invalidValue, required } from './field.ts';
import { labelKey, labelValue, type NameForm } from './names.ts';

export function checkMetadata({ metadata }: KubeObject, nameForm: NameForm): FieldError[] {
  if (!metadata.name) return [required('metadata.name', 'name or generateName is required')];
  return [
    ...nameForm(metadata.name).map((why) => invalidValue('metadata.name', metadata.name, why)),
    ...checkLabels(metadata.labels, 'metadata.labels'),
    ...Object.keys(metadata.annotations ?? {}).flatMap((key) =>
      labelKey(key.toLowerCase()).map((why) => invalidValue('metadata.annotations', key, why)),
    ),
  ];
}

export function checkLabels(labels: unknown, field: string): FieldError[] {
  if (!isObject(labels)) return [];
  return Object.entries(labels).flatMap(([key, value]) => [
    ...labelKey(key).map((why) => invalidValue(field, key, why)),
    ...labelValue(String(value)).map((why) => invalidValue(field, String(value), why)),
  ]);
}
