#include "lower/bessel.h"

#include <limits>
#include <numbers>

#include "lower/chebyshev.h"
#include "lower/special_math.h"

namespace tpjrt::lower {
namespace {

// Fitted from 40-digit values at Chebyshev nodes.

// exp(-x) I0(x), x in [0, 8], t = x / 4 - 1.
constexpr double kI0Near[] = {
    0.33839763720473803,    -0.3046826723431984,     0.17162090152220877,    -0.09490109704804764,
    0.04930528423967071,    -0.02373741480589947,    0.010546460394594998,   -0.004324309995050576,
    0.0016394756169413357,  -0.0005763755745385824,  0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07,
    6.046995022541919e-08,  -1.300025009986248e-08,  2.6598237246823866e-09, -5.189795601635263e-10,
    9.675809035373237e-11,  -1.726826291441556e-11,  2.95505266312964e-12,   -4.856446783111929e-13,
    7.676185498604936e-14,  -1.1685332877993451e-14, 1.715391285555133e-15,  -2.431279846547955e-16,
    3.3307945188222384e-17};
// sqrt(x) exp(-x) I0(x), x >= 8, t = 16 / x - 1.
constexpr double kI0Far[] = {
    0.4022452055070544,      0.0033691164782556943,   6.889758346916825e-05,
    2.8913705208347567e-06,  2.0489185894690638e-07,  2.266668990498178e-08,
    3.3962320257083865e-09,  4.94060238822497e-10,    1.1889147107846439e-11,
    -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
    7.180124451383666e-13,   3.8527783827421426e-13,  1.54008621752141e-14,
    -4.150569347287222e-14,  -9.554846698828307e-15,  3.8116806693526224e-15,
    1.7725601330565263e-15,  -3.425485619677219e-16,  -2.8276239805165836e-16,
    3.461222867697461e-17,   4.46562142029676e-17};
// exp(-x) I1(x) / x, x in [0, 8], t = x / 4 - 1.
constexpr double kI1Near[] = {
    0.12629359322181682,     -0.17641651835783406,    0.1026436586898471,
    -0.05294598120809499,    0.024726449030626516,    -0.010564084894626197,
    0.004156422944312888,    -0.0015135724506312532,  0.0005122859561685758,
    -0.00016176081582589674, 4.781565107550054e-05,   -1.3273163656039436e-05,
    3.4702513081376785e-06,  -8.568720264695455e-07,  2.0032947535521353e-07,
    -4.445059128796328e-08,  9.381537386495773e-09,   -1.8872497517228294e-09,
    3.625590281552117e-10,   -6.663489723502027e-11,  1.1736186298890901e-11,
    -1.9839743977649436e-12, 3.223793365945575e-13,   -5.042185504727912e-14,
    7.600684294735408e-15,   -1.1055969477353862e-15, 1.5536319577362005e-16,
    -2.111421214358166e-17};
// sqrt(x) exp(-x) I1(x), x >= 8, t = 16 / x - 1.
constexpr double kI1Far[] = {
    0.38928811750914005,     -0.009761097491361469,   -0.00011058893876262371,
    -3.882564808877691e-06,  -2.512236237870209e-07,  -2.6314688468895196e-08,
    -3.835380385964237e-09,  -5.589743462196584e-10,  -1.8974958123505413e-11,
    3.2526035830154884e-11,  1.4125807436613782e-11,  2.0356285441470896e-12,
    -7.198551776245908e-13,  -4.0835511110921974e-13, -2.1015418427726643e-14,
    4.272440016711951e-14,   1.0420276984128802e-14,  -3.8144030724370075e-15,
    -1.8803547755107825e-15, 3.3082023109209285e-16,  2.96262899764595e-16,
    -3.209525921993424e-17,  -4.6503053684893586e-17};
// K0(x) + log(x / 2) I0(x), x in [0, 2], t = x^2 / 2 - 1.
constexpr double kK0Near[] = {-0.2676636966169514,   0.3442898999246285,     0.0359799365153615,
                              0.001264615411446926,  2.286212103119452e-05,  2.5347910790261494e-07,
                              1.904516377220209e-09, 1.0349695257633625e-11, 4.2598161427910826e-14,
                              1.3744654358807508e-16};
// sqrt(x) exp(x) K0(x), x >= 2, t = 4 / x - 1.
constexpr double kK0Far[] = {
    1.2201515410329777,      -0.0314481013119645,    0.0015698838857300533,
    -0.00012849549581627802, 1.39498137188765e-05,   -1.8317555227191195e-06,
    2.766813639445015e-07,   -4.660489897687948e-08, 8.574034017414225e-09,
    -1.6975345093890614e-09, 3.5773972814003283e-10, -7.957489244477396e-11,
    1.8559491149549264e-11,  -4.514597883374519e-12, 1.1403405882073441e-12,
    -2.9800969231481784e-13, 8.032890775068375e-14,  -2.2275133267462965e-14,
    6.340076476276646e-15,   -1.848593377920907e-15, 5.5120559994043335e-16,
    -1.6782311257549006e-16, 5.2103917776435543e-17};
// x (K1(x) - log(x / 2) I1(x)), x in [0, 2], t = x^2 / 2 - 1.
constexpr double kK1Near[] = {0.7626501136694739,     -0.3531559607765449,
                              -0.12261118082265715,   -0.006975723859639864,
                              -0.0001730288957513052, -2.4334061415659684e-06,
                              -2.213387630734726e-08, -1.4114883926335278e-10,
                              -6.666901694199329e-13, -2.427449850519366e-15};
// sqrt(x) exp(x) K1(x), x >= 2, t = 4 / x - 1.
constexpr double kK1Far[] = {
    1.3603130952422213,      0.10392373657681724,     -0.002857816859622779,
    0.00019521551847135162,  -1.936197974166083e-05,  2.406484947837217e-06,
    -3.5019606030878126e-07, 5.7410841254500495e-08,  -1.0345762465678097e-08,
    2.0150497551970347e-09,  -4.1903547593419254e-10, 9.218315187605315e-11,
    -2.129967838427791e-11,  5.139639673482343e-12,   -1.2891739609498229e-12,
    3.348419666052243e-13,   -8.976705182010146e-14,  2.4771544242195988e-14,
    -7.0198370892147685e-15, 2.038703166239861e-15,   -6.057047270643018e-16,
    1.8380935752430455e-16,  -5.689462849193648e-17};
// J0(x), x in [0, 8], t = x^2 / 32 - 1.
constexpr double kJ0Near[] = {
    0.15772797147489012,   -0.008723442352852221,   0.2651786132033368,    -0.37009499387264977,
    0.15806710233209725,   -0.034893769411408884,   0.004819180069467605,  -0.00046062616620627504,
    3.246032882100508e-05, -1.7619469077621507e-06, 7.608163592418782e-08, -2.679253530557673e-09,
    7.848696314479465e-11, -1.9438346867370164e-12, 4.125320595634374e-14, -7.588508125447546e-16,
    1.2218515873961411e-17};
// J1(x) / x, x in [0, 8], t = x^2 / 32 - 1.
constexpr double kJ1Near[] = {
    0.08104484632565812,    -0.1489751450676521,    0.1609992623572097,
    -0.08268049176681791,   0.022213639654966037,   -0.003646940600769276,
    0.0004050337728354822,  -3.255554866857259e-05, 1.9858774049915165e-06,
    -9.521984756750436e-08, 3.687133759097148e-09,  -1.178026622695885e-10,
    3.160154580348003e-12,  -7.221755239651773e-14, 1.4232144003513942e-15,
    -2.4441972916190464e-17};
// Y0(x) - 2 / pi log(x) J0(x), x in [0, 8], t = x^2 / 32 - 1.
constexpr double kY0Near[] = {
    -0.03314611320328494,    -0.2744743055297453,   0.17903431407718265,    0.26156734625504663,
    -0.17730201278114358,    0.04719668959576339,   -0.007287962479552079,  0.0007531135932577742,
    -5.632079141056987e-05,  3.206532537654801e-06, -1.44072332740187e-07,  5.248794787330516e-09,
    -1.5837552541812015e-10, 4.02633081830612e-12,  -8.747341203310769e-14, 1.6434898714919468e-15,
    -2.6977881152566837e-17};
// x (Y1(x) - 2 / pi log(x) J1(x)), x in [0, 8], t = x^2 / 32 - 1.
constexpr double kY1Near[] = {
    -0.8127981175865443,     -1.9681658397549548,   -1.9753486587649085,
    0.714620414201949,       0.5293699560240295,    -0.2942365440222844,
    0.06499275332216367,     -0.0085579770829528,   0.0007705719478651246,
    -5.1056551641858577e-05, 2.609462068037386e-06, -1.0637036192893421e-07,
    3.5464786569525353e-09,  -9.86455155995366e-11, 2.3260839371194343e-12,
    -4.712119764591926e-14,  8.293283216194571e-16};
// in-phase factor of order 0, x >= 8, t = 128 / x^2 - 1.
constexpr double kP0Far[] = {
    0.9994603493475187,      -0.0005365220468132117,  3.0751847875194745e-06,
    -5.1705945376060975e-08, 1.6306464635151382e-09,  -7.86409137723707e-11,
    5.168262387349193e-12,   -4.3045788699253914e-13, 4.3265957431549404e-14,
    -5.069034095935236e-15,  6.748072215733873e-16,   -1.0011513723467786e-16};
// x times the quadrature factor of order 0, x >= 8, t = 128 / x^2 - 1.
constexpr double kQ0Far[] = {
    -0.12444683684269607,    0.0005470815954089319,  -5.9315987288485175e-06,
    1.4377965798375193e-07,  -5.817532749493056e-09, 3.376097523734991e-10,
    -2.565397936797308e-11,  2.404916100281365e-12,  -2.6690625482579414e-13,
    3.4041800321963686e-14,  -4.87994410531204e-15,  7.729703176242605e-16,
    -1.3348852171502517e-16, 2.4865952389390515e-17, -4.952892629886516e-18};
// in-phase factor of order 1, x >= 8, t = 128 / x^2 - 1.
constexpr double kP1Far[] = {
    1.0009030408600137,      0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08,
    -1.8718907491063067e-09, 8.816898659582339e-11, -5.704863640395645e-12, 4.699195515230542e-13,
    -4.6842237839904895e-14, 5.452674896044717e-15, -7.221180842274018e-16, 1.0667689114335412e-16};
// x times the quadrature factor of order 1, x >= 8, t = 128 / x^2 - 1.
constexpr double kQ1Far[] = {0.3742222965562826,     -0.0007702178839325664, 7.3108922063643636e-06,
                             -1.676782510726674e-07, 6.583354662120443e-09,  -3.749090950541556e-10,
                             2.8121750359748866e-11, -2.61145253946232e-12,  2.8774212663332235e-13,
                             -3.649001916061838e-14, 5.206626366226707e-15,  -8.215318025458595e-16,
                             1.4141084390211833e-16, -2.626761589838529e-17};
// (1 + 2 x) exp(x^2) erfc(x), x >= 0, t = (x - 3) / (x + 3).
constexpr double kErfcx[] = {
    1.17756257419656,        0.005353904539615676,    -0.09377550342284209,
    0.05436652555744322,     -0.018976596707845208,   0.004453426061462712,
    -0.0006335531710553147,  1.7661719523171593e-05,  1.2841532864056671e-05,
    -2.0072285659059913e-06, -1.807522790414837e-07,  7.549828343825093e-08,
    1.885668523838603e-09,   -2.699519049798364e-09,  -1.460079119939105e-11,
    1.0361607445969489e-10,  1.475715976623473e-12,   -4.277340064396911e-12,
    -2.07922492859799e-13,   1.8134502003176963e-13,  1.973425574544739e-14,
    -7.287943737592673e-15,  -1.5169878690228116e-15, 2.3514112258781403e-16,
    1.0006111691821667e-16};
// Ai(x), x in [-3, 3], t = x / 3.
constexpr double kAiryNear[] = {
    0.09012738455715785,    0.053940913526009576,    -0.2969391528216673,
    0.19369862876728744,    -0.0023953683131233863,  -0.054677767988676414,
    0.026466807940476553,   -0.0015272822794018765,  -0.0033110315136980336,
    0.0013706775830001126,  -9.564896295781664e-05,  -0.00010033407470915483,
    3.7299570345339265e-05, -2.7222928524365062e-06, -1.8288062860468095e-06,
    6.260103971504244e-07,  -4.5742913431223385e-08, -2.2278092347306883e-08,
    7.130612404404435e-09,  -5.128609093012623e-10,  -1.9427549609863267e-10,
    5.875464402161978e-11,  -4.129307525002218e-12,  -1.2730474171456336e-12,
    3.665579607167945e-13,  -2.5094700341513603e-14, -6.498838258334547e-15,
    1.7919158821260863e-15, -1.1936108365552879e-16, -2.657840511880498e-17,
    7.049706654908702e-18};
// 2 sqrt(pi) x^(1/4) exp(z) Ai(x), z = 2/3 x^(3/2), x >= 3, t = 2 z(3) / z - 1.
constexpr double kAiryRight[] = {
    0.9909253278629121,     -0.008787979198916314,   0.0002708640061605207,  -1.46317247353397e-05,
    1.0852260208359393e-06, -9.972552056312785e-08,  1.0739090386447278e-08, -1.309259653125608e-09,
    1.765607635969083e-10,  -2.5904351203535138e-11, 4.084102938847913e-12,  -6.853850259533148e-13,
    1.2151224622938065e-13, -2.2621141137901326e-14, 4.399957412572512e-15,  -8.904529694172307e-16,
    1.868404039422278e-16,  -4.052458927104195e-17};
// Ai(-x) along the sine, x >= 3, t = 2 (z(3) / z)^2 - 1.
constexpr double kAirySine[] = {
    0.9985699626310912,      -0.0013951995769053717,  3.267841506400246e-05,
    -1.9404091544431855e-06, 1.8869330795558386e-07,  -2.5081398395940352e-08,
    4.147665235330316e-09,   -8.070839465359446e-10,  1.7827924805699562e-10,
    -4.361705273201904e-11,  1.161185427365765e-11,   -3.319778087279854e-12,
    1.0089771012367244e-12,  -3.2341424638014315e-13, 1.086339783463564e-13,
    -3.803935598638535e-14,  1.382553936868321e-14,   -5.196785439951606e-15,
    2.0139656226370207e-15,  -8.025754109984125e-16,  3.2812807447958266e-16,
    -1.3735972268163478e-16, 5.877253876350081e-17,   -2.566360832248659e-17};
// z times Ai(-x) along the cosine, x >= 3, t = 2 (z(3) / z)^2 - 1.
constexpr double kAiryCosine[] = {
    0.06807534474256373,     -0.0013083854582772593,  5.551763035572022e-05,
    -4.544765865946546e-06,  5.465428712800189e-07,   -8.490632985289182e-08,
    1.5863608897257044e-08,  -3.4107384772845923e-09, 8.195292084272133e-10,
    -2.1559704007789517e-10, 6.117533123357895e-11,   -1.851185487143232e-11,
    5.921734198169083e-12,   -1.9885901380079363e-12, 6.970913701405051e-13,
    -2.5390352457349194e-13, 9.572030893384095e-14,   -3.7228877150175075e-14,
    1.4896665595239416e-14,  -6.1177609304627624e-15, 2.5732888544750705e-15,
    -1.1065951356139897e-15, 4.857346858061151e-16,   -2.1732261971215762e-16,
    9.89825782207556e-17,    -4.584274189115853e-17,  2.1567496259612602e-17,
    -1.0297889174525857e-17, 4.9860332904654874e-18,  -2.446201458641717e-18};

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoOverPi = 2 / std::numbers::pi;

using Table = std::span<const double>;

Value AtLeast(Value x, double low) { return hlo::Max(x, hlo::ConstantLike(x, low)); }
Value AtMost(Value x, double high) { return hlo::Min(x, hlo::ConstantLike(x, high)); }

// `near` for x <= split, else `far`; the arguments of both are kept inside their intervals by the
// caller.
Value Joined(Value x, double split, Value near, Value far) {
  return hlo::Select(hlo::Le(x, split), near, far);
}

// exp(-x) I(x) for x >= 0; `factor` multiplies the near series.
Value ScaledI(Value x, Table near, Table far, bool times_x) {
  const Value inner = AtMost(x, 8);
  const Value outer = AtLeast(x, 8);
  Value small = ChebyshevSeries(inner * 0.25 - 1.0, near);
  if (times_x) small = small * inner;
  return Joined(x, 8, small, ChebyshevSeries(16.0 / outer - 1.0, far) * hlo::Rsqrt(outer));
}

// Multiplies by exp(m) in two halves: the product overflows only where the result does.
Value TimesExp(Value x, Value m) {
  const Value root = hlo::Exp(m * 0.5);
  return x * root * root;
}

// What K and Y do at and left of their singularity.
Value Singular(Value x, Value y, double at_zero) {
  y = hlo::Select(hlo::Eq(x, 0.0), hlo::ConstantLike(x, at_zero), y);
  return hlo::Select(hlo::Lt(x, 0.0), hlo::ConstantLike(x, kNan), y);
}

Value LogHalf(Value x) { return hlo::Log(x * 0.5); }

// K of order 0 or 1 on (0, 2], unscaled.
Value NearK(Value x, bool first_order) {
  const Value t = x * x * 0.5 - 1.0;
  if (!first_order) return ChebyshevSeries(t, kK0Near) - LogHalf(x) * BesselI0(x);
  return ChebyshevSeries(t, kK1Near) / x + LogHalf(x) * BesselI1(x);
}

Value FarK(Value x, bool first_order) {
  const Table table = first_order ? Table(kK1Far) : Table(kK0Far);
  return ChebyshevSeries(4.0 / x - 1.0, table) * hlo::Rsqrt(x);
}

Value K(Value x, bool first_order, bool scaled) {
  const Value inner = AtMost(x, 2);
  const Value outer = AtLeast(x, 2);
  Value near = NearK(inner, first_order);
  Value far = FarK(outer, first_order);
  if (scaled) near = near * hlo::Exp(inner);
  if (!scaled) far = TimesExp(far, -outer);
  return Singular(x, Joined(x, 2, near, far), kInf);
}

// Amplitude and phase of the oscillating functions for x >= 8.
struct Wave {
  Value amplitude, in_phase, quadrature, cosine, sine;
};

Wave FarWave(Value x, bool first_order) {
  const Value t = 128.0 / (x * x) - 1.0;
  const Value s = hlo::Sin(x);
  const Value c = hlo::Cos(x);
  const double r = std::numbers::sqrt2 / 2;
  Wave w;
  w.amplitude = hlo::Sqrt(kTwoOverPi / x);
  w.in_phase = ChebyshevSeries(t, first_order ? Table(kP1Far) : Table(kP0Far));
  w.quadrature = ChebyshevSeries(t, first_order ? Table(kQ1Far) : Table(kQ0Far)) / x;
  w.cosine = (first_order ? s - c : c + s) * r;
  w.sine = (first_order ? -(s + c) : s - c) * r;
  return w;
}

Value FarJ(Value x, bool first_order) {
  const Wave w = FarWave(x, first_order);
  return w.amplitude * (w.in_phase * w.cosine - w.quadrature * w.sine);
}

Value FarY(Value x, bool first_order) {
  const Wave w = FarWave(x, first_order);
  return w.amplitude * (w.in_phase * w.sine + w.quadrature * w.cosine);
}

Value NearJ(Value x, bool first_order) {
  const Value t = x * x * (1.0 / 32) - 1.0;
  return first_order ? x * ChebyshevSeries(t, kJ1Near) : ChebyshevSeries(t, kJ0Near);
}

Value NearY(Value x, bool first_order) {
  const Value t = x * x * (1.0 / 32) - 1.0;
  const Value logarithmic = kTwoOverPi * hlo::Log(x) * NearJ(x, first_order);
  if (first_order) return ChebyshevSeries(t, kY1Near) / x + logarithmic;
  return ChebyshevSeries(t, kY0Near) + logarithmic;
}

Value J(Value x, bool first_order) {
  const Value m = hlo::Abs(x);
  const Value y = Joined(m, 8, NearJ(AtMost(m, 8), first_order), FarJ(AtLeast(m, 8), first_order));
  return first_order ? hlo::Select(hlo::Lt(x, 0.0), -y, y) : y;
}

Value Y(Value x, bool first_order) {
  const Value y = Joined(x, 8, NearY(AtMost(x, 8), first_order), FarY(AtLeast(x, 8), first_order));
  return Singular(x, y, -kInf);
}

}  // namespace

Value BesselI0Scaled(Value x) { return ScaledI(hlo::Abs(x), kI0Near, kI0Far, false); }
Value BesselI0(Value x) { return TimesExp(BesselI0Scaled(x), hlo::Abs(x)); }
Value BesselI1Scaled(Value x) { return CopySign(ScaledI(hlo::Abs(x), kI1Near, kI1Far, true), x); }
Value BesselI1(Value x) { return TimesExp(BesselI1Scaled(x), hlo::Abs(x)); }
Value BesselK0(Value x) { return K(x, false, false); }
Value BesselK0Scaled(Value x) { return K(x, false, true); }
Value BesselK1(Value x) { return K(x, true, false); }
Value BesselK1Scaled(Value x) { return K(x, true, true); }
Value BesselJ0(Value x) { return J(x, false); }
Value BesselJ1(Value x) { return J(x, true); }
Value BesselY0(Value x) { return Y(x, false); }
Value BesselY1(Value x) { return Y(x, true); }

Value SphericalBesselJ0(Value x) {
  const Value y = hlo::Select(hlo::Eq(x, 0.0), hlo::ConstantLike(x, 1.0), hlo::Sin(x) / x);
  return hlo::Select(hlo::IsInf(x), hlo::ZerosLike(x), y);
}

Value AiryAi(Value x) {
  const double zeta_at_3 = 2 * std::numbers::sqrt3;
  const double limit = 103.892;  // where float64 reaches 0
  const Value m = AtLeast(hlo::Abs(x), 3);
  const Value zeta = m * hlo::Sqrt(m) * (2.0 / 3);
  const Value inverse = zeta_at_3 / zeta;
  const Value fourth_root = hlo::Sqrt(hlo::Sqrt(m));
  const Value right = hlo::Exp(-zeta) * ChebyshevSeries(inverse * 2.0 - 1.0, kAiryRight) /
                      (fourth_root * (2 / std::numbers::inv_sqrtpi));
  const Value t = inverse * inverse * 2.0 - 1.0;
  const Value phase = zeta + std::numbers::pi / 4;
  const Value left = (hlo::Sin(phase) * ChebyshevSeries(t, kAirySine) -
                      hlo::Cos(phase) * ChebyshevSeries(t, kAiryCosine) / zeta) /
                     fourth_root * std::numbers::inv_sqrtpi;
  const Value near =
      ChebyshevSeries(hlo::Max(AtMost(x, 3), hlo::ConstantLike(x, -3)) / 3.0, kAiryNear);
  Value y = hlo::Select(hlo::Lt(x, -3.0), left, hlo::Select(hlo::Gt(x, 3.0), right, near));
  y = hlo::Select(hlo::Gt(x, limit), hlo::ZerosLike(y), y);
  return hlo::Select(hlo::IsInf(x), hlo::ConstantLike(x, kNan), y);
}

Value Erfcx(Value x) {
  const Value m = hlo::Abs(x);
  const Value t = hlo::Select(hlo::IsInf(m), hlo::ConstantLike(m, 1.0), (m - 3.0) / (m + 3.0));
  const Value right = ChebyshevSeries(t, kErfcx) / (m * 2.0 + 1.0);
  return hlo::Select(hlo::Lt(x, 0.0), ExpSquare(m) * 2.0 - right, right);
}

}  // namespace tpjrt::lower
