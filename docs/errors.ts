/** `errors.md`: the catalogue of failures as a page. */
import { areas } from '../src/api/endpoints.ts'
import { catalogue } from '../src/errors.ts'
import type { Action, Code } from '../src/errors.ts'

/** What each action means to whoever reads it. */
const advice: Readonly<Record<Action, string>> = {
  retry_later: 'Try again, after the seconds of `Retry-After` where it is there.',
  switch_model: 'Ask for another model; `GET /v1/models` lists them.',
  sign_in: 'Sign in again, or send a key that is valid.',
  device_login: 'Start a device login anew: `svc login`.',
  upgrade_plan: 'Take a plan with more.',
  use_boost: 'Take a boost; they are spent after the plan’s own.',
  shorten_prompt: 'Send less.',
  fix_request: 'Correct the request; `error.param` names the field where one is at fault.',
  contact_operator: 'Tell the operator, with the request id.',
}

export function errorsPage(): string {
  const codes = Object.keys(catalogue) as Code[]
  return `# Failures

Every failure is one envelope: \`code\` (stable, for programs), \`stage\`, \`message\` and \`messageZh\`, \`actions\`, \`requestId\`, and OpenAI's \`error\`
beside them. This page is made from \`src/errors.ts\` and \`src/api\` by \`npm run docs\`. A message may be more exact than the one here.

| Code | Status | Stage | Type | Text | Chinese | Actions |
|---|---|---|---|---|---|---|
${codes.map(rowOf).join('\n')}

## What to do

| Action | |
|---|---|
${Object.entries(advice)
  .map(([action, text]) => `| \`${action}\` | ${text} |`)
  .join('\n')}

## Where they come from

What is named here belongs to the endpoint itself; besides, whoever is not let in meets \`sign_in_required\` or \`forbidden_origin\`, a body that cannot be
read \`invalid_request\`, \`payload_too_large\` or \`unsupported_media_type\`, and anybody \`rate_limited\`, \`not_found\`, \`method_not_allowed\` and \`internal_error\`.

| Code | Endpoints |
|---|---|
${codes
  .map(placesOf)
  .filter((row) => row !== null)
  .join('\n')}
`
}

function rowOf(code: Code): string {
  const { status, stage, type, en, zh, actions } = catalogue[code]
  return `| \`${code}\` | ${status} | ${stage} | \`${type}\` | ${en} | ${zh} | ${actions.map((action) => `\`${action}\``).join(' ')} |`
}

function placesOf(code: Code): string | null {
  const places = Object.values(areas)
    .flat()
    .filter(({ endpoint }) => endpoint.errors.includes(code))
    .map(({ endpoint }) => `\`${endpoint.method.toUpperCase()} ${endpoint.path}\``)
  return places.length === 0 ? null : `| \`${code}\` | ${places.toSorted().join(' ')} |`
}
