/*
 * One server, one key, exclusive: the queue, grants by message, polling, leases, requests that are executed twice or
 * late. The counterparts in the code, the bounds and the omissions: README.md.
 *
 * Time is relative: every clock is a count of ticks that are left, or that have gone by. So runs have no end, and
 * states repeat. Tokens are relative, too: `lag` is how many tokens have been given since this one.
 *
 * checks.mjs gives the number of CLIENTS, the ROUNDS (acquisitions) of each, and at most how many RENEWALS of each hold there
 * are, LOSSES of messages of the server, BREAKS of connections, CRASHES, and LEAVES of waiters that give up.
 */
#define LEASE 3
#define GRANT 2             /* grantTimeout: the first lease of a pushed grant */
#define PERIOD 1            /* a waiter asks again after it */
#define PATIENCE 3          /* a place is kept for so long without hearing of it */
#define MEMORY 1            /* a leave is remembered; nothing arrives later than this */

#define IDS (CLIENTS * ROUNDS)
#define NONE 255
#define OLDEST 3            /* a lag that stands for all larger ones */
#define clientOf(id) ((id) % CLIENTS)

mtype:phase = { idle, waiting, holding };
mtype:request = { ask, renew, leave };
mtype:answer = { nothing, held, queued, left, gone };

/* The server: the holder, the waiters, and the clients that have left. */
byte holder = NONE, holdLeft, holdFull, holdLag;
byte queue[CLIENTS], waiters;
byte fresh[IDS];            /* ticks until a place is stale */
byte remembered[IDS];       /* ticks for which it is known that this one has left */
bool hasLeft[IDS];          /* ghost: its leave or release has been executed */

/* The network: requests in their order, one answer, one message, and late deliveries of a broken connection. */
typedef Connection { chan up = [2] of { mtype:request, byte, bool } };
Connection connection[CLIENTS];
mtype:answer told[CLIENTS];
byte answerLease[CLIENTS], answerDelay[CLIENTS], answerLag[CLIENTS], answerAskIn[CLIENTS];
byte push[CLIENTS], pushAge[CLIENTS], pushLag[CLIENTS];
mtype:request late[CLIENTS];
byte lateId[CLIENTS], lateLeft[CLIENTS];
bool lateRemember[CLIENTS];

/* The clients. */
mtype:phase state[CLIENTS];
byte id[CLIENTS], round[CLIENTS], valid[CLIENTS], renewals[CLIENTS], askIn[CLIENTS];
bool asking[CLIENTS], reconnected[CLIENTS], deaf[CLIENTS], dead[CLIENTS];
byte asked[CLIENTS];        /* ticks since its question was sent */
bool based[CLIENTS];        /* it has an answer by which a push can be measured: */
byte baseDelay[CLIENTS], baseLag[CLIENTS];

/* The faults that are still to come. */
byte losses = LOSSES, breaks = BREAKS, crashes = CRASHES, leaves = LEAVES;
#ifdef PROMPT
byte slow = PROMPT;         /* ticks that may go by while something is on its way */
#endif

bool unconfirmed;           /* its holder has not asked since it was pushed (for NO_GRANT_TIMEOUT) */
byte bestLag = OLDEST;      /* ghost: the largest token that any client has believed in */
byte i, j, span;            /* of atomic steps */
bool found;

#ifdef NO_GRANT_TIMEOUT
#define NOTE(what) what
#else
#define NOTE(what) skip
#endif
#define believes(c) (valid[c] > 0)
#define down(x) x = (x > 0 -> x - 1 : 0)
#define aging(x, most) x = (x < most -> x + 1 : most)

/* ---- the scripts ---- */

inline olderTokens() {
  aging(bestLag, OLDEST);
  for (j : 0 .. CLIENTS - 1) {
    if :: told[j] != nothing -> aging(answerLag[j], OLDEST) :: else fi;
    if :: push[j] != NONE -> aging(pushLag[j], OLDEST) :: else fi;
    if :: based[j] -> aging(baseLag[j], OLDEST) :: else fi
  }
  j = 0
}

inline grant(who, lease) {
  assert(!hasLeft[who]);    /* a client that has left never gets it */
  olderTokens();
  holder = who;
  holdLeft = lease;
  holdFull = LEASE;
  holdLag = 0;
  NOTE(unconfirmed = false)
}

inline dropPlace(at) {
  fresh[queue[at]] = 0;
  for (j : at .. CLIENTS - 2) { queue[j] = queue[j + 1] }
  waiters--;
  queue[waiters] = 0;
  j = 0
}

inline findPlace(who) {
  i = 0;
  do
  :: i < waiters && queue[i] != who -> i++
  :: else -> break
  od
}

/* Grants to the first client that is there, if the key is free. A dead client may not be known as dead yet. */
inline settle(asker) {
  i = 0;
  do
  :: holder != NONE || i == waiters -> break
  :: else ->
    if
    :: fresh[queue[i]] == 0 -> dropPlace(i)
    :: fresh[queue[i]] > 0 && queue[i] != asker && (deaf[clientOf(queue[i])] || dead[clientOf(queue[i])]) -> i++
    :: fresh[queue[i]] > 0 && (queue[i] == asker || !deaf[clientOf(queue[i])]) ->
      found = (queue[i] == asker);
      if
      :: found -> grant(queue[i], LEASE)
      :: else ->
        grant(queue[i], GRANT);
        NOTE(unconfirmed = true);
        push[clientOf(queue[i])] = queue[i];
        pushAge[clientOf(queue[i])] = 0;
        pushLag[clientOf(queue[i])] = 0
      fi;
      found = false;
      dropPlace(i)
    fi
  od;
  i = 0
}

inline reply(c, who, what, lease, lag) {
  if
  :: id[c] == who && asking[c] ->
    told[c] = what;
    answerLease[c] = lease;
    answerDelay[c] = (what == queued -> asked[c] : 0);
    answerLag[c] = lag;
    answerAskIn[c] = 0
  :: else                   /* no client waits for this answer */
  fi
}

inline doAsk(c, who) {
  if
  :: holder == who ->
    NOTE(unconfirmed = false);
    if :: holdFull > holdLeft -> holdLeft = holdFull :: else fi;
    reply(c, who, held, holdLeft, holdLag)
#ifndef NO_REMEMBERING
  :: holder != who && remembered[who] > 0 ->
    settle(NONE);
    reply(c, who, left, 0, 0)
#endif
  :: else ->
    findPlace(who);
    if
    :: i == waiters ->
      assert(waiters < CLIENTS);
      queue[waiters] = who;
      waiters++
    :: else
    fi;
    fresh[who] = PATIENCE;
    settle(who);
    if
    :: holder == who -> reply(c, who, held, LEASE, 0)
    :: else ->
      reply(c, who, queued, 0, 0);
      if
      :: id[c] == who && asking[c] -> answerAskIn[c] = (holder != NONE && holdLeft < PERIOD -> holdLeft : PERIOD)
      :: else
      fi
    fi
  fi
}

inline doLeave(who, remember) {
  hasLeft[who] = true;
#ifdef RELEASE_ANY
  holder = NONE; holdLeft = 0; holdFull = 0; holdLag = 0;
#else
  if :: holder == who -> holder = NONE; holdLeft = 0; holdFull = 0; holdLag = 0 :: else fi;
#endif
  findPlace(who);
  if :: i < waiters -> dropPlace(i) :: else fi;
  if :: remember -> remembered[who] = MEMORY :: else fi;
  settle(NONE)
}

inline doRenew(c, who) {
  if
  :: holder == who ->
    NOTE(unconfirmed = false);
    holdLeft = LEASE;
    reply(c, who, held, LEASE, 0)
  :: else -> reply(c, who, gone, 0, 0)
  fi
}

inline execute(c, what, who, remember) {
  if
  :: what == ask -> doAsk(c, who)
  :: what == leave -> doLeave(who, remember)
  :: what == renew -> doRenew(c, who)
  fi
}

/* The deliveries of one connection; each is a process of its own, so that fairness is for each. */
proctype Wire(byte c) {
  mtype:request what;
  byte who;
  bool remember;
end:
  do
  :: atomic { connection[c].up ? what, who, remember -> execute(c, what, who, remember); what = 0; who = 0; remember = false }
#if BREAKS > 0
  :: atomic {
      late[c] != 0 && lateLeft[c] > 0 ->
      what = late[c]; who = lateId[c]; remember = lateRemember[c];
      late[c] = 0; lateId[c] = 0; lateLeft[c] = 0; lateRemember[c] = false;
      execute(c, what, who, remember);
      what = 0; who = 0; remember = false
    }
#endif
  od
}

/* ---- the clients ---- */

inline send(c, what, remember) { connection[c].up ! what, id[c], remember }

inline question(c, what) {
  asking[c] = true;
  asked[c] = 0;
  send(c, what, false)
}

inline forgetAnswer(c) {
  told[c] = nothing; answerLease[c] = 0; answerDelay[c] = 0; answerLag[c] = 0; answerAskIn[c] = 0
}

inline forgetPush(c) { push[c] = NONE; pushAge[c] = 0; pushLag[c] = 0 }

/* The acquisition is over. */
inline forget(c) {
  state[c] = idle;
  valid[c] = 0; renewals[c] = 0; askIn[c] = 0; asked[c] = 0;
  asking[c] = false; reconnected[c] = false;
  based[c] = false; baseDelay[c] = 0; baseLag[c] = 0;
  forgetAnswer(c)
}

inline believe(c, ticks, lag) {
  for (j : 0 .. CLIENTS - 1) { assert(j == c || !believes(j)) }   /* mutual exclusion */
  j = 0;
  assert(lag < bestLag);                                          /* tokens rise */
  bestLag = lag;
  state[c] = holding;
  valid[c] = ticks;
  span = 0;
  askIn[c] = 0; based[c] = false; baseDelay[c] = 0; baseLag[c] = 0
}

#ifdef VALID_FROM_ANSWER
#define validOf(c) (answerLease[c])
#else
#define validOf(c) (answerLease[c] > asked[c] -> answerLease[c] - asked[c] : 0)
#endif

#define pushLeft(c) (GRANT > pushAge[c] + baseDelay[c] -> GRANT - pushAge[c] - baseDelay[c] : 0)
#ifdef BELIEVE_ANY_PUSH
#define counts(c) (true)
#define pushValid(c) (GRANT)
#else
#define counts(c) (based[c] && pushLag[c] < baseLag[c] && 2 * pushLeft(c) >= GRANT)
#define pushValid(c) pushLeft(c)
#endif

inline takeAnswer(c) {
  asking[c] = false;
  if
  :: state[c] == waiting && told[c] == held && validOf(c) > 0 -> span = validOf(c); believe(c, span, answerLag[c])
  :: state[c] == waiting && told[c] == held && validOf(c) == 0 ->   /* too late: released, asked under a new id */
    send(c, leave, reconnected[c]);
    forget(c)
  :: state[c] == waiting && told[c] == queued ->
    based[c] = true;
    baseDelay[c] = answerDelay[c];
    baseLag[c] = answerLag[c];
    askIn[c] = answerAskIn[c]
  :: state[c] == waiting && told[c] == left -> assert(false)    /* sent only to clients that have left */
  :: state[c] == holding && told[c] == held && valid[c] > 0 ->
    if :: validOf(c) > valid[c] -> valid[c] = validOf(c) :: else fi
  :: state[c] == holding && told[c] == gone -> valid[c] = 0
  :: else
  fi;
  asked[c] = (asking[c] -> asked[c] : 0);
  forgetAnswer(c)
}

inline takePush(c) {
  if
  :: state[c] == waiting && push[c] == id[c] && counts(c) -> found = true; span = pushValid(c); believe(c, span, pushLag[c])
  :: state[c] == waiting && push[c] == id[c] && !counts(c) -> askIn[c] = 0     /* it asks */
  :: state[c] == holding && push[c] == id[c]
  :: state[c] == idle || push[c] != id[c] -> connection[c].up ! leave, push[c], false
  fi;
  /* A question that is on its way when a push is believed in is not waited for any more. */
  if :: found -> asking[c] = false; asked[c] = 0; forgetAnswer(c) :: else fi;
  found = false;
  forgetPush(c)
}

#define room(c) (len(connection[c].up) < 2)

proctype Client(byte c) {
end:
  do
  :: atomic {
      !dead[c] && state[c] == idle && round[c] < ROUNDS && room(c) ->
      id[c] = c + CLIENTS * round[c];
      round[c]++;
      state[c] = waiting;
      question(c, ask)
    }
#ifndef NO_POLLING
  :: atomic { !dead[c] && state[c] == waiting && !asking[c] && askIn[c] == 0 && room(c) -> question(c, ask) }
#endif
  :: atomic { deaf[c] -> deaf[c] = false; askIn[c] = 0 }    /* it receives messages again, and asks */
  :: atomic { !dead[c] && told[c] != nothing && room(c) -> takeAnswer(c) }
  :: atomic {
      !dead[c] && push[c] != NONE && room(c) && (!asking[c] || state[c] != waiting || push[c] != id[c] || counts(c)) ->
      takePush(c)
    }
  :: atomic {
      !dead[c] && state[c] == waiting && leaves > 0 && room(c) ->
      leaves--;
      send(c, leave, asking[c] || reconnected[c]);
      forget(c)
    }
  :: atomic {
      !dead[c] && state[c] == holding && valid[c] > 0 && !asking[c] && renewals[c] < RENEWALS && room(c) ->
      renewals[c]++;
      question(c, renew)
    }
  :: atomic { !dead[c] && state[c] == holding && room(c) -> send(c, leave, reconnected[c]); forget(c) }
  :: atomic { !dead[c] && crashes > 0 -> crashes--; dead[c] = true; forgetPush(c) }
  od
}

/* ---- faults and time ---- */

proctype Faults(byte c) {
  mtype:request what;
  byte who;
  bool remember;
end:
  do
  :: atomic { losses > 0 && push[c] != NONE -> losses--; forgetPush(c) }
#if BREAKS > 0
  /* An unanswered request is sent again; the first copy of it may arrive once more, later. */
  :: atomic {
      breaks > 0 && !dead[c] && state[c] != idle && (told[c] == nothing || room(c)) ->
      breaks--;
      if
      :: len(connection[c].up) > 0 ->
        connection[c].up ? <what, who, remember>;
        late[c] = what; lateId[c] = who; lateRemember[c] = remember; lateLeft[c] = MEMORY;
        what = 0; who = 0; remember = false
      :: true
      fi;
      if
      :: told[c] != nothing -> forgetAnswer(c); send(c, (state[c] == waiting -> ask : renew), false)
      :: else
      fi;
      if :: push[c] != NONE -> forgetPush(c) :: true fi;
      deaf[c] = true;
      reconnected[c] = true;
      based[c] = false; baseDelay[c] = 0; baseLag[c] = 0
    }
#endif
  od
}

/* Nothing is on its way, and every client has done its due steps. */
inline isQuiet() {
  found = true;
  for (j : 0 .. CLIENTS - 1) {
    if
    :: len(connection[j].up) > 0 || deaf[j] -> found = false
    :: !dead[j] && (told[j] != nothing || push[j] != NONE) -> found = false
#ifndef NO_POLLING
    :: !dead[j] && state[j] == waiting && !asking[j] && askIn[j] == 0 -> found = false
#endif
    :: else
    fi
  }
  j = 0
}

inline tick() {
#ifdef NO_GRANT_TIMEOUT
  if :: unconfirmed :: else -> down(holdLeft) fi;
#else
  down(holdLeft);
#endif
  down(holdFull);
  if :: holdLeft == 0 -> holder = NONE; holdFull = 0; holdLag = 0 :: else fi;
  for (j : 0 .. IDS - 1) { down(fresh[j]); down(remembered[j]) }
  for (j : 0 .. CLIENTS - 1) {
    down(valid[j]); down(askIn[j]);
    if :: asking[j] -> aging(asked[j], LEASE) :: else fi;
    if :: push[j] != NONE -> aging(pushAge[j], GRANT) :: else fi;
    down(lateLeft[j]);
    if :: lateLeft[j] == 0 -> late[j] = 0; lateId[j] = 0; lateRemember[j] = false :: else fi
  }
  j = 0
}

proctype Time() {
end:
  do
#ifdef PROMPT
  :: atomic { isQuiet(); if :: found -> found = false; tick() :: !found && slow > 0 -> slow--; tick() :: else fi }
#else
  :: d_step { true -> tick() }
#endif
  od
}

init {
  atomic {
    for (i : 0 .. CLIENTS - 1) { push[i] = NONE; state[i] = idle; told[i] = nothing };
    i = 0;
    run Time();
    for (i : 0 .. CLIENTS - 1) { run Client(i); run Wire(i); run Faults(i) };
    i = 0
  }
}

/* Every waiter that lives is served or has left in the end. */
ltl served { [] ((state[0] == waiting && !dead[0]) -> <> (state[0] != waiting || dead[0])) }
