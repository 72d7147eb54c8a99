// What can be wrong with the logging settings. Checked on its own and first, because every later problem is logged.
import type { LoggingConfiguration } from './configuration.ts';
import { invalid, refused } from './problems.ts';
import { isZeroQuantity } from './quantity.ts';

const MAX_VERBOSITY = 2 ** 31 - 1;

export function loggingProblems(
  logging: LoggingConfiguration,
  isEnabled: (gate: string) => boolean,
): readonly string[] {
  const problems: string[] = [];
  if (logging.format !== 'text' && logging.format !== 'json') {
    problems.push(invalid('logging.format', logging.format, 'Unsupported log format'));
  } else if (logging.format === 'json' && !isEnabled('LoggingBetaOptions')) {
    problems.push(invalid('logging.format', 'json', 'Log format json is disabled, see LoggingBetaOptions feature'));
  }
  if (logging.flushFrequency <= 0n) {
    problems.push(invalid('logging.flushFrequency', logging.flushFrequency, 'Must be greater than zero'));
  }
  if (logging.verbosity > MAX_VERBOSITY) {
    problems.push(invalid('logging.verbosity', logging.verbosity, `Must be <= ${MAX_VERBOSITY}`));
  }
  return [...problems, ...vmoduleProblems(logging), ...optionProblems(logging, isEnabled)];
}

function vmoduleProblems({ format, vmodule }: LoggingConfiguration): string[] {
  const problems: string[] = [];
  if (vmodule.length > 0 && format !== 'text') {
    problems.push(refused('logging.vmodule', 'Forbidden', 'Only supported for text log format'));
  }
  for (const [i, { filePattern, verbosity }] of vmodule.entries()) {
    const path = `logging.vmodule[${i}]`;
    if (filePattern === '') problems.push(refused(path, 'Required value', 'File pattern must not be empty'));
    if (/[=,]/.test(filePattern)) {
      problems.push(invalid(path, filePattern, 'File pattern must not contain equal sign or comma'));
    }
    if (verbosity > MAX_VERBOSITY) problems.push(invalid(path, verbosity, `Must be <= ${MAX_VERBOSITY}`));
  }
  return problems;
}

function optionProblems({ options }: LoggingConfiguration, isEnabled: (gate: string) => boolean): string[] {
  if (isEnabled('LoggingAlphaOptions')) return [];
  const forbid = (path: string) => refused(path, 'Forbidden', 'Feature LoggingAlphaOptions is disabled');
  return (['text', 'json'] as const).flatMap((format) => [
    ...(options[format].splitStream ? [forbid(`logging.options.${format}.splitStream`)] : []),
    ...(isZeroQuantity(options[format].infoBufferSize) ? [] : [forbid(`logging.options.${format}.infoBufferSize`)]),
  ]);
}
