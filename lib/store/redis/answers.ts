/** Whether an error is a reply of the server, and not a failure of the connection. Works with every copy of ioredis. */
export const isAnswer = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';
