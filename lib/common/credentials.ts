/** What a URL has before its host. Greedy: an `@` that should have been percent-encoded belongs to the password. */
const LOGIN = /([a-z][a-z0-9+.-]*:\/\/)[^\s"'<>]*@/gi;

/** For messages: a text without the user and the password of a URL in it. */
export const withoutLogin = (text: string): string => text.replace(LOGIN, '$1***@');
