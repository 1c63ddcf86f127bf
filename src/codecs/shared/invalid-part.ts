import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'

/** For a part of a content that the target's API has no place for. */
export function invalidPart(path: string): GatewayError {
  return invalidRequest(
    {
      en: `'${path}' cannot be sent to this model; use text, images, or files as base64.`,
      zh: `'${path}' 无法发送给该模型，请使用文本、图片或 base64 文件。`,
    },
    path,
  )
}
