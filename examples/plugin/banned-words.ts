/** Refuses prompts that contain a word of a list. */
import { definePlugin, GatewayError, getPromptText } from 'svc-gateway'

export function bannedWords(words: readonly string[]) {
  const banned = words.map((word) => word.toLowerCase())
  return definePlugin({
    name: 'banned-words',
    needs: ['chat'],
    on: 'turn',
    onRequest(x) {
      const prompt = getPromptText(x.chat).toLowerCase()
      if (banned.some((word) => prompt.includes(word))) throw new GatewayError('content_filter', { param: 'messages' })
    },
    onResponse(x) {
      x.headers['x-words-checked'] = String(banned.length)
    },
  })
}
