/** What has been said, kept in this tab for this account and nowhere else. */

/** Longer histories cost their reader more with every turn; the oldest messages are left behind. */
const mostCharacters = 2_000_000

export class Conversation {
  #key
  /** `{role, content, model?, failed?}`, oldest first. */
  messages

  constructor(account) {
    this.#key = `conversation:${account}`
    this.messages = read(this.#key)
  }

  add(message) {
    this.messages.push(message)
    this.save()
    return message
  }

  clear() {
    this.messages = []
    this.save()
  }

  /** What the model is sent: everything said, without what failed. */
  toRequest() {
    return this.messages
      .filter(({ content, failed }) => content !== '' && failed !== true)
      .map(({ role, content }) => ({ role, content }))
  }

  save() {
    let text = JSON.stringify(this.messages)
    while (text.length > mostCharacters && this.messages.length > 2) {
      this.messages.splice(0, 2)
      text = JSON.stringify(this.messages)
    }
    try {
      sessionStorage.setItem(this.#key, text)
    } catch {
      // A full or forbidden storage costs the history after a reload, not the conversation.
    }
  }
}

function read(key) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? '[]')
    return Array.isArray(kept) ? kept.filter(({ role, content }) => typeof role === 'string' && typeof content === 'string') : []
  } catch {
    return []
  }
}
