/**
 * Evaluates the configuration file in a process of its own. A module that was imported once stays in memory and is not read again, so an import
 * in the server would return the old file, or retain one more copy at each reload.
 */
import { fork } from 'node:child_process'
import { ConfigError, createChildEnvironment } from '../../config/config.ts'
import type { EvaluatedConfig } from './merge-reloaded-config.ts'

export type EvaluationReply =
  | { readonly ok: true; readonly evaluated: EvaluatedConfig }
  | { readonly ok: false; readonly message: string }

/** A configuration that never ends must not keep later reloads waiting. */
const timeoutMs = 60_000

/**
 * Checked as at a start.
 * @param environment variables in place of this process's own of the same names; undefined removes one
 * @throws ConfigError
 */
export async function evaluateConfig(environment: NodeJS.Dict<string> = {}): Promise<EvaluatedConfig> {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  const child = fork(new URL(`./evaluate-config-process${extension}`, import.meta.url), {
    env: createChildEnvironment(environment),
    // Flags of the server concern its memory, or a port that it has already.
    execArgv: [],
    // The values hold secrets, so they are sent through a private pipe, and what the file prints is dropped.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  const reply = await new Promise<EvaluationReply>((resolve) => {
    const fail = (reason: string): void => resolve({ ok: false, message: `The configuration cannot be evaluated: ${reason}.` })
    child.once('message', (message) => resolve(message as EvaluationReply))
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code, signal) => fail(`its process ended with ${signal ?? code ?? 'no code'}`))
  })
  if (!reply.ok) throw new ConfigError(reply.message)
  return reply.evaluated
}
