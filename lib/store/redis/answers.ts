/** Whether an error is what a server has answered, and not what has become of a connection. By whatever copy of ioredis. */
export const isAnswer = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';
