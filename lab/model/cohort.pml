/*
 * Turns: the waiters of one client have the key one after the other under one grant, with tokens that the server grants
 * to no other client; then the release hands the key off, and takes a place for the next of them in the same step. The
 * counterparts in the code, the bounds and the omissions: README.md.
 *
 * Time and tokens are relative, as in queue.pml. Questions are answered at once here; messages take time, or get lost.
 * checks.mjs gives the number of CLIENTS.
 */
#define WAITERS 2           /* of each client, at one time; others come when these have been served */
#define TURNS 2             /* localHandoffs */
#define LEASE 4
#define GRANT 3
#ifdef NOT_RESERVED
#define TAKEN 1
#else
#define TAKEN TURNS
#endif

#define NONE 255
#define OLDEST (2 * TURNS + 1)
#define older(x) x = (x + TAKEN < OLDEST -> x + TAKEN : OLDEST)
#define down(x) x = (x > 0 -> x - 1 : 0)

mtype = { idle, queued, holding };

/* The server. */
byte holder = NONE, holdLeft, holdLag, queue[CLIENTS], length;

/* The clients. */
mtype phase[CLIENTS];
byte waiting[CLIENTS], valid[CLIENTS], turnsLeft[CLIENTS], lag[CLIENTS];
bool pushed[CLIENTS];
byte pushAge[CLIENTS], pushLag[CLIENTS];

byte bestLag = OLDEST;      /* ghost: the largest token of a section */
byte overtaken[CLIENTS];    /* ghost: sections that others have begun since it took its place */
byte i, span;

inline grant(c, ticks) {
  older(bestLag);
  for (i : 0 .. CLIENTS - 1) {
    if :: pushed[i] -> older(pushLag[i]) :: else fi;
    if :: phase[i] == holding -> older(lag[i]) :: else fi
  }
  holder = c;
  holdLeft = ticks;
  holdLag = TAKEN - 1       /* of the first of its tokens */
}

inline dropFirst() {
  overtaken[queue[0]] = 0;
  for (i : 0 .. CLIENTS - 2) { queue[i] = queue[i + 1] }
  length--;
  queue[length] = 0
}

/* Grants to the first waiter: by a message, or, if the first waiter is the one that asks, as the answer. */
inline settle(asker) {
  if
  :: holder == NONE && length > 0 ->
    if
    :: queue[0] == asker -> grant(queue[0], LEASE)
    :: else -> grant(queue[0], GRANT); pushed[holder] = true; pushAge[holder] = 0; pushLag[holder] = holdLag
    fi;
    dropFirst()
  :: else
  fi
}

inline begin(c, itsLag) {
  for (i : 0 .. CLIENTS - 1) {
    assert(i == c || valid[i] == 0);        /* mutual exclusion */
    if
    :: i < length && queue[i] != c ->
      overtaken[queue[i]]++;
      assert(overtaken[queue[i]] <= TURNS * (CLIENTS - 1))    /* others get their turn */
    :: else
    fi
  }
  assert(itsLag < bestLag);                 /* tokens rise */
  bestLag = itsLag;
  lag[c] = itsLag;
  span = 0;
  waiting[c]--
}

inline hold(c, ticks, itsLag) {
  phase[c] = holding;
  valid[c] = ticks;
  turnsLeft[c] = TURNS - 1;
  begin(c, itsLag);
  pushed[c] = false; pushAge[c] = 0; pushLag[c] = 0
}

/* The first question of a client, and each further one. */
inline ask(c) {
  if
  :: holder == c -> holdLeft = LEASE
  :: else ->
    i = 0;
    do
    :: i < length && queue[i] != c -> i++
    :: else -> break
    od;
    if
    :: i == length ->
#ifdef NEXT_IS_FIRST
      for (i : 1 .. length) { queue[length + 1 - i] = queue[length - i] }
      queue[0] = c;
#else
      queue[length] = c;
#endif
      length++
    :: else
    fi;
    settle(c)
  fi;
  if
  :: holder == c -> hold(c, holdLeft, holdLag)
  :: else -> phase[c] = queued
  fi
}

inline stop(c) { phase[c] = idle; valid[c] = 0; turnsLeft[c] = 0; lag[c] = 0 }

inline giveBack(c) {
  stop(c);
  if :: holder == c -> holder = NONE; holdLeft = 0; holdLag = 0 :: else fi;
  if
  :: waiting[c] > 0 -> ask(c)               /* in the same step: behind all waiters */
  :: else
  fi;
  settle(NONE)
}

#define pushLeft(c) (GRANT > pushAge[c] -> GRANT - pushAge[c] : 0)
#ifdef NO_LIMIT
#define mayPassOn(c) (waiting[c] > 0 && valid[c] > 0)
#else
#define mayPassOn(c) (waiting[c] > 0 && valid[c] > 0 && turnsLeft[c] > 0 && 2 * valid[c] >= GRANT)
#endif

inline passOn(c) {
  turnsLeft[c] = (turnsLeft[c] > 0 -> turnsLeft[c] - 1 : 0);
#ifdef FRESH_LEASE
  valid[c] = LEASE;
#endif
  span = (lag[c] > 0 -> lag[c] - 1 : 0);
  begin(c, span)
}

proctype Client(byte c) {
end:
  do
  :: d_step { waiting[c] < WAITERS -> waiting[c]++ }
  :: d_step { phase[c] != holding && waiting[c] > 0 -> ask(c) }
  :: d_step { pushed[c] && phase[c] == queued && 2 * pushLeft(c) > GRANT -> span = pushLeft(c); hold(c, span, pushLag[c]) }
  :: d_step { pushed[c] && (phase[c] != queued || 2 * pushLeft(c) <= GRANT) -> pushed[c] = false; pushAge[c] = 0; pushLag[c] = 0 }
  :: d_step { pushed[c] -> pushed[c] = false; pushAge[c] = 0; pushLag[c] = 0 }      /* it is lost */
  :: d_step { phase[c] == holding && valid[c] > 0 && holder == c -> holdLeft = LEASE; valid[c] = LEASE }
  :: d_step { phase[c] == holding && mayPassOn(c) -> passOn(c) }
  :: d_step { phase[c] == holding && !mayPassOn(c) -> giveBack(c) }
  :: d_step { phase[c] == holding && holder != c && valid[c] == 0 -> giveBack(c) }
  od
}

proctype Time() {
end:
  do
  :: d_step {
      true ->
      down(holdLeft);
      if :: holdLeft == 0 -> holder = NONE; holdLag = 0 :: else fi;
      for (i : 0 .. CLIENTS - 1) {
        down(valid[i]);
        if :: pushed[i] && pushAge[i] < GRANT -> pushAge[i]++ :: else fi
      }
      i = 0
    }
  od
}

init {
  atomic {
    for (i : 0 .. CLIENTS - 1) { phase[i] = idle };
    run Time();
    for (i : 0 .. CLIENTS - 1) { run Client(i) };
    i = 0
  }
}
