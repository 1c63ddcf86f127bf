/** A real S3 server (Moto) that checks signatures, on a free port of loopback, with one bucket; ends with the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { AwsClient } from 'aws4fetch'
import type { TestScope } from '../test-scope.ts'
import { findPython, openEnvironment } from '../python/environment.ts'
import { findFreePort } from '../free-port.ts'
import { skipWithoutProgram } from '../require-program.ts'
import { waitUntil } from '../wait-until.ts'
import '../../../src/system/vendor/undici-fetch.ts'

export interface TestS3Server {
  /** The value of `backup.to`. */
  readonly bucket: {
    readonly bucket: string
    readonly endpoint: string
    readonly prefix: string
    readonly accessKeyId: string
    readonly secretAccessKey: string
  }
  /** Requests a path of the server with valid credentials. */
  request(path: string, init?: RequestInit): Promise<Response>
}

const region = 'us-east-1'
const policy = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }],
})
/** Requests that create the user whose credentials are required afterwards. */
const setup = [
  { Action: 'CreateUser', UserName: 'backup' },
  { Action: 'PutUserPolicy', UserName: 'backup', PolicyName: 'all', PolicyDocument: policy },
  { Action: 'CreateAccessKey', UserName: 'backup' },
]

/** Undefined if Python is not installed: the test has then reported it. */
export async function startS3Server(t: TestScope): Promise<TestS3Server | undefined> {
  const python = findPython()
  if ('reason' in python) {
    skipWithoutProgram(t, 'python3 with venv and pip')
    return undefined
  }
  const interpreter = await openEnvironment('s3-server', python)
  const port = await findFreePort()
  const server = spawn(interpreter, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], INITIAL_NO_AUTH_ACTION_COUNT: String(setup.length), PYTHONDONTWRITEBYTECODE: '1' },
  })
  t.teardown(async () => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.kill('SIGKILL')
    await exited
  })
  const endpoint = `http://127.0.0.1:${port}`
  const isUp = (): Promise<boolean> =>
    fetch(`${endpoint}/moto-api/`)
      .then((response) => response.text())
      .then(
        () => true,
        () => false,
      )
  await waitUntil(isUp, 'the S3 server answers')
  let answer = ''
  for (const fields of setup) {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        authorization: `AWS4-HMAC-SHA256 Credential=setup/20260101/${region}/iam/aws4_request, SignedHeaders=host, Signature=0`,
      },
      body: new URLSearchParams({ ...fields, Version: '2010-05-08' }),
    })
    answer = await response.text()
    if (!response.ok) throw new Error(answer)
  }
  const accessKeyId = /<AccessKeyId>([^<]+)/.exec(answer)?.[1] ?? ''
  const secretAccessKey = /<SecretAccessKey>([^<]+)/.exec(answer)?.[1] ?? ''
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3' })
  const request = async (path: string, init?: RequestInit): Promise<Response> => {
    const response = await fetch(await client.sign(`${endpoint}${path}`, init))
    const bytes = await response.bytes()
    if (!response.ok) throw new Error(new TextDecoder().decode(bytes))
    return new Response(bytes, { headers: response.headers })
  }
  await request('/copies', { method: 'PUT' })
  return { bucket: { bucket: 'copies', endpoint, prefix: 'gateway/one', accessKeyId, secretAccessKey }, request }
}
