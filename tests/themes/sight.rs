//! What eyes make of colours: contrast as WCAG 2 computes it, the three kinds of colour blindness as Machado,
//! Oliveira and Fernandes model them (2009, severity 1), and difference as CIE76 measures it in L*a*b*.

/// Linear light: red, green and blue of sRGB, each 0 to 1.
#[derive(Debug, Clone, Copy)]
pub struct Light([f64; 3]);

/// Kinds of eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Full,
    /// Protanopia.
    NoRed,
    /// Deuteranopia.
    NoGreen,
    /// Tritanopia.
    NoBlue,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Full, Self::NoRed, Self::NoGreen, Self::NoBlue];

    fn matrix(self) -> [[f64; 3]; 3] {
        match self {
            Self::Full => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            Self::NoRed => [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            Self::NoGreen => [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            Self::NoBlue => [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        }
    }
}

impl Light {
    pub fn of((r, g, b): (u8, u8, u8)) -> Self {
        Self([r, g, b].map(|value| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        }))
    }

    /// From 1 (the same) to 21 (black and white).
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    pub fn seen_by(self, kind: Kind) -> Self {
        Self(times(kind.matrix(), self.0).map(|value| value.clamp(0.0, 1.0)))
    }

    pub fn difference(self, other: Self) -> f64 {
        let square = |(a, b): (f64, f64)| (a - b).powi(2);
        self.lab().into_iter().zip(other.lab()).map(square).sum::<f64>().sqrt()
    }

    fn luminance(self) -> f64 {
        let [r, g, b] = self.0;
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    fn lab(self) -> [f64; 3] {
        const XYZ: [[f64; 3]; 3] = [
            [0.412_456_4, 0.357_576_1, 0.180_437_5],
            [0.212_672_9, 0.715_152_2, 0.072_175_0],
            [0.019_333_9, 0.119_192_0, 0.950_304_1],
        ];
        let bend = |t: f64| if t > 216.0 / 24389.0 { t.cbrt() } else { (24389.0 / 27.0 * t + 16.0) / 116.0 };
        let [x, y, z] = times(XYZ, self.0);
        let (x, y, z) = (bend(x / 0.950_47), bend(y), bend(z / 1.088_83));
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }
}

fn times(matrix: [[f64; 3]; 3], [x, y, z]: [f64; 3]) -> [f64; 3] {
    matrix.map(|[a, b, c]| a * x + b * y + c * z)
}

#[test]
fn the_measures_know_their_fixed_points() {
    let (black, white) = (Light::of((0, 0, 0)), Light::of((255, 255, 255)));
    assert!((black.contrast(white) - 21.0).abs() < 0.001);
    assert!((black.difference(white) - 100.0).abs() < 0.1);
    // A published example: #777777 on white just misses 4.5.
    assert!((Light::of((0x77, 0x77, 0x77)).contrast(white) - 4.478).abs() < 0.001);
    for kind in Kind::ALL {
        assert!(white.seen_by(kind).difference(white) < 0.1, "nobody sees white in colour: {kind:?}");
    }
}
