/*
 * The fencing tokens of one server: the larger of the last one + 1 and the server's clock, in blocks. The server
 * restarts without its data, the fence key expires, the clock goes back. The counterparts in the code: README.md.
 *
 * A tick is the time that a grant takes, in which RATE microseconds go by.
 *
 * checks.mjs gives the TURNS (tokens of one grant), the MEMORY (ticks after the last grant at which the fence key expires),
 * by how many ticks the clock goes BACK, once, and the number of RESTARTS.
 */
#define RATE 4
#define HORIZON 20

byte clock = 10, last, expires, restarts = RESTARTS;
byte granted;               /* the tick of the last grant */
bool back = (BACK > 0);
byte highest;               /* ghost: the largest token that any client has had */
byte token;

active proctype Server() {
end:
  do
  :: d_step {
      granted != clock ->
      granted = clock;
      token = (clock < expires -> last + 1 : 1);
#ifndef FROM_ANEW
      if :: token < RATE * clock -> token = RATE * clock :: else fi;
#endif
      assert(token > highest);              /* tokens rise */
      last = token + TURNS - 1;
      highest = last;
      expires = clock + MEMORY;
      token = 0
    }
  :: d_step { restarts > 0 -> restarts--; last = 0; expires = 0 }
  od
}

active proctype Time() {
end:
  do
  :: d_step { clock < HORIZON -> clock++; if :: clock >= expires -> last = 0; expires = 0 :: else fi }
  :: d_step { back -> back = false; clock = clock - BACK; granted = 0 }
  od
}
